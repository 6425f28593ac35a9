package election_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// ensemble starts a ZooKeeper in memory, and returns what makes candidates on it,
// each with a session of its own.
func ensemble(ctx context.Context) (server *zktest.Server, candidate func(info string) (*election.Election, *zkconn.Client)) {
	server, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	return server, func(info string) (*election.Election, *zkconn.Client) {
		client, err := zkconn.Dial(ctx, []string{server.Addr()}, zkconn.WithSessionTimeout(10*time.Second))
		if err != nil {
			log.Fatal(err)
		}
		e, err := election.New(client, "/elections/scheduler", info)
		if err != nil {
			log.Fatal(err)
		}
		return e, client
	}
}

// A scheduler that issues commands while it leads, each with its Stamp, to a
// resource that asks fencing's rule. The first term is lost; Run campaigns again
// by itself, and the command that was on its way then comes too late.
func ExampleElection_Run() {
	ctx := context.Background()
	server, candidate := ensemble(ctx)
	defer server.Close()
	e, client := candidate("10.0.0.5:8080")
	resource := fencing.NewGate(fencing.Stamp{})
	// The resource may know of a later term before this process does: returned while
	// the term seems to stand, its refusal would end Run.
	refused := func(ctx context.Context, err error) error {
		if errors.Is(err, fencing.ErrStale) {
			select {
			case <-ctx.Done(): // lost, so that Run campaigns again
			case <-time.After(10 * time.Second): // the session timeout: there is no later term
			}
		}
		return err
	}

	var late fencing.Stamp
	err := e.Run(ctx, func(ctx context.Context, t *election.Term) error {
		// Whatever an older leader still has under way is refused from here on.
		if err := resource.Raise(t.Token()); err != nil {
			return refused(ctx, err)
		}
		if late == (fencing.Stamp{}) {
			late = t.Next()
			server.ExpireAll() // an outage that outlasts the session
			<-ctx.Done()       // as would a request that is given ctx
			fmt.Println("lost:", errors.Is(context.Cause(ctx), zklock.ErrLost))
			return context.Cause(ctx)
		}
		fmt.Println("late:", errors.Is(resource.Admit(ctx, late, func() error { return nil }), fencing.ErrStale))
		for n := 1; n <= 3; n++ {
			if err := t.Ready(ctx, time.Second); err != nil { // begin nothing in doubt
				return err
			}
			stamp := t.Next()
			if err := resource.Admit(ctx, stamp, func() error { return nil }); err != nil {
				return refused(ctx, err)
			}
			fmt.Println("command", stamp.Seq)
		}
		return nil // resigns
	})
	fmt.Println("done:", err)
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// lost: true
	// late: true
	// command 1
	// command 2
	// command 3
	// done: <nil>
}

// Campaign is for a term that outlives a function. Its context bounds the wait
// and never the Term, which stands until it is resigned or lost.
func ExampleElection_Campaign() {
	ctx := context.Background()
	server, candidate := ensemble(ctx)
	defer server.Close()
	first, firstClient := candidate("10.0.0.5:8080")
	second, secondClient := candidate("10.0.0.6:8080")

	term, err := first.Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	wait, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	_, err = second.Campaign(wait)
	cancel()
	fmt.Println("while another leads:", errors.Is(err, context.DeadlineExceeded))

	fmt.Println("resigned:", term.Resign(ctx), term.State(), errors.Is(context.Cause(term.Context()), zklock.ErrReleased))
	next, err := second.Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the next token is larger:", next.Token().Compare(term.Token()) > 0)
	for _, c := range []*zkconn.Client{firstClient, secondClient} {
		if err := c.Close(ctx); err != nil { // ends the term of its candidate as well
			log.Fatal(err)
		}
	}
	// Output:
	// while another leads: true
	// resigned: <nil> Idle true
	// the next token is larger: true
}

// Who only wants to know whom to ask need not stand for election. What Observe
// yields is news: a command goes with a Term's Stamp, and never because of it.
func ExampleElection_Observe() {
	ctx := context.Background()
	server, candidate := ensemble(ctx)
	defer server.Close()
	e, client := candidate("10.0.0.5:8080")
	watcher, watching := candidate("")

	var term *election.Term
	var epoch uint64
	for leader, err := range watcher.Observe(ctx) {
		switch {
		case err != nil: // it could not go on
			log.Fatal(err)
		case leader == (election.Leader{}) && term == nil:
			fmt.Println("nobody leads")
			if term, err = e.Campaign(ctx); err != nil {
				log.Fatal(err)
			}
			continue
		case leader != (election.Leader{}):
			fmt.Printf("ask %s, newer: %v\n", leader.Info, leader.Epoch > epoch)
			epoch = leader.Epoch
			if err := term.Resign(ctx); err != nil {
				log.Fatal(err)
			}
			continue
		}
		fmt.Println("nobody leads any more")
		break
	}
	for _, c := range []*zkconn.Client{client, watching} {
		if err := c.Close(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// nobody leads
	// ask 10.0.0.5:8080, newer: true
	// nobody leads any more
}

// A health check for an orchestrator. A standby is well, and so is a leader, as
// long as the ensemble confirms it.
func ExampleElection_Handler() {
	ctx := context.Background()
	server, candidate := ensemble(ctx)
	defer server.Close()
	e, client := candidate("10.0.0.5:8080")

	mux := http.NewServeMux()
	mux.Handle("GET /healthz", e.Handler(5*time.Second))
	check := func() {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		var found []string
		for _, part := range []string{`"state":"Idle"`, `"state":"Held"`, `"leader":null`, `"leader":"10.0.0.5:8080"`, `"token":"0x`} {
			if strings.Contains(w.Body.String(), part) {
				found = append(found, part)
			}
		}
		fmt.Println(w.Code, found)
	}
	check()
	term, err := e.Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	check()
	if err := term.Resign(ctx); err != nil {
		log.Fatal(err)
	}
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 200 ["state":"Idle" "leader":null]
	// 200 ["state":"Held" "leader":"10.0.0.5:8080" "token":"0x]
}

// A leader that is about to listen elsewhere says so, and leads on: the Token
// stays.
func ExampleTerm_SetInfo() {
	ctx := context.Background()
	server, candidate := ensemble(ctx)
	defer server.Close()
	e, client := candidate("10.0.0.5:8080")

	term, err := e.Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := term.SetInfo(ctx, "10.0.0.5:9090"); err != nil {
		log.Fatal(err)
	}
	leader, err := e.Leader(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(leader.Info, leader.Epoch == term.Token().Uint64())
	fmt.Println(term.SetInfo(ctx, strings.Repeat("x", election.MaxInfo+1)) != nil, term.State())
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 10.0.0.5:9090 true
	// true Held
}
