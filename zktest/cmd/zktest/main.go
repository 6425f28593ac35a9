// Zktest serves a ZooKeeper in memory on a port, for the tests of programs in any
// language, and breaks it as told. It keeps nothing and asks nobody who they are:
// it is no server for production.
//
//	go run github.com/zkfence/zkfence/zktest/cmd/zktest
//	go run github.com/zkfence/zkfence/zktest/cmd/zktest -commands -addr 127.0.0.1:0
//	go run github.com/zkfence/zkfence/zktest/cmd/zktest -commands -ensemble 3
//	go run github.com/zkfence/zkfence/zktest/cmd/zktest -commands -proxy 127.0.0.1:2181
//
// It prints "serving on host:port" once clients can connect, with the addresses of
// an ensemble in one word, host:port,host:port,host:port. It ends with status 0
// on an interrupt or SIGTERM, with 2 for flags that make no sense and with 1 if it
// cannot serve. With -proxy it stands in front of a real ZooKeeper on this machine
// instead, and breaks the connections to that.
//
// # Commands
//
// With -commands it reads one command a line from its standard input. It answers
// each with the lines that were asked for, if any, indented by two spaces, and then
// with "ok" or with "error: " and the reason: who has read that knows that the
// command is in force. It ends with its input, so that it does not outlive a test
// that has started it. "help" lists the commands; they are methods of zktest.Server
// by similar names.
//
//	drop-reply any-create       the next create is carried out, its reply lost
//	for 0x1d2a cut              closes that session's connection
//	expire 0x1d2a               ends the session
//	on 2 cut                    closes the connections to the ensemble's second server
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(interrupted, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program. It returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		fmt.Fprintln(stderr, "zktest:", err)
		return status
	}
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return fail(2, err)
	}
	t, err := o.start()
	if err != nil {
		return fail(1, err)
	}
	defer t.close()
	if o.trace {
		defer t.tell(stderr)()
	}
	if open := openness(t.addr); open != "" {
		fmt.Fprintln(stderr, "zktest: note:", open)
	}
	if _, err := fmt.Fprintln(stdout, "serving on", t.addr); err != nil {
		return fail(1, err)
	}
	if !o.commands {
		<-ctx.Done()
		return 0
	}
	ended := make(chan error, 1)
	// A read cannot be called off: after an interrupt this goroutine ends with the
	// process.
	go func() { ended <- t.obey(stdin, stdout) }()
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	if err != nil {
		return fail(1, err)
	}
	return 0
}
