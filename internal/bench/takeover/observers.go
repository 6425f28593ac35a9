package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/zkfence/zkfence/election"
)

const (
	observing = 10 // Clients
	observers = 1000
)

// crowd is the observers, in a process of their own as they mostly are: in that of
// the candidates a thousand goroutines would wake up ahead of the winner's.
type crowd struct {
	cmd  *exec.Cmd
	in   io.Closer
	says *bufio.Scanner
}

func spawn(ctx context.Context, servers []string) (*crowd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-observe", "-zk", strings.Join(servers, ","))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &crowd{cmd, in, bufio.NewScanner(out)}, nil
}

// await returns once all of them have seen the term.
func (c *crowd) await(t *election.Term) error {
	want := strconv.FormatUint(t.Token().Uint64(), 10)
	for c.says.Scan() {
		if c.says.Text() == want {
			return nil
		}
	}
	return fmt.Errorf("the observers' process has ended: %w", errors.Join(c.says.Err(), io.ErrUnexpectedEOF))
}

// stop ends the process and waits for it.
func (c *crowd) stop() error {
	_ = c.in.Close() // it ends by this; Wait says whether it did so well
	return c.cmd.Wait()
}

// observe is the process: it prints the number of each term that all observers have
// seen, until its parent closes the pipe, also by dying.
func observe(servers string) error {
	// The process ends with its input, whatever else goes on in it.
	ctx := context.Background()
	watching, cancel := context.WithCancelCause(ctx)
	go func() { // ends with the process at the latest
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is what counts
		cancel(nil)
	}()
	var all sync.WaitGroup
	defer all.Wait()
	var mu sync.Mutex
	seen := map[uint64]int{}
	for range observing {
		client, err := dial(ctx, strings.Split(servers, ","))
		if err != nil {
			return err
		}
		defer func() { _ = client.Close(ctx) }() // nobody waits for its end
		e, err := election.New(client, dir, "")
		if err != nil {
			return err
		}
		for range observers / observing {
			all.Go(func() {
				for l, err := range e.Observe(watching) {
					if err != nil {
						cancel(err)
						return
					}
					mu.Lock()
					seen[l.Epoch]++
					if seen[l.Epoch] == observers {
						fmt.Println(l.Epoch)
						delete(seen, l.Epoch)
					}
					mu.Unlock()
				}
			})
		}
	}
	<-watching.Done()
	if err := context.Cause(watching); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
