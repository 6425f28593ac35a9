package redisfence_test

import (
	"context"
	"errors"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

// A withdrawal that looks before it writes: a command's script looks at everything
// first, for Redis takes nothing back.
func ExampleGuard_Run() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer func() { _ = client.Close() }()
	guard, err := redisfence.New(client, redisfence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	withdraw, err := redisfence.NewScript(`
		local balance = tonumber(redis.call('GET', keys[1]) or '0')
		if balance < tonumber(args[1]) then return redis.error_reply('too little: ' .. balance) end
		return redis.call('DECRBY', keys[1], args[1])`)
	if err != nil {
		log.Fatal(err)
	}
	pay := func(ctx context.Context, s fencing.Stamp) (balance string, err error) { // s is a Hold's Next
		c := redisfence.Command{Resource: "account 17", Stamp: s, OpID: "invoice 4711"}
		return guard.Run(ctx, c, withdraw, []string{redisfence.Key("account 17", "balance")}, 100)
	}
	stamp := fencing.Stamp{}
	balance, err := pay(context.Background(), stamp)
	switch {
	case errors.Is(err, fencing.ErrStale): // a newer owner: stop
	case errors.Is(err, fencing.ErrUnknownOutcome): // again, with the same stamp
	case err == nil:
		log.Print("left: ", balance)
	}
}
