package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zkfence/zkfence/zktest"
)

func (c *call) stall() error {
	on, err := isOn(c.arg(0))
	if err == nil {
		for _, s := range c.servers {
			s.Stall(on)
		}
	}
	return err
}

// view is the server whose data a command reads: the one it is told, or the leader,
// which has what has been written before.
func (c *call) view() *zktest.Server {
	if c.scoped {
		return c.servers[0]
	}
	return c.t.head()
}

func (c *call) sessions() error {
	for _, s := range c.view().Sessions() {
		connected := "disconnected"
		if s.Connected {
			connected = "connected"
		}
		c.print(strings.TrimSpace(fmt.Sprintf("%#x %v %s %s", uint64(s.ID), s.Timeout, connected, strings.Join(s.Ephemerals, " "))))
	}
	return nil
}

func (c *call) create() error { return c.t.head().Create(c.arg(0), []byte(c.arg(1))) }

func (c *call) set() error { return c.t.head().Set(c.arg(0), []byte(c.arg(1))) }

func (c *call) delete() error { return c.t.head().Delete(c.arg(0)) }

func (c *call) get() error {
	data, _, err := c.view().Get(c.arg(0))
	if err == nil {
		// Quoted, because data may have lines of its own.
		c.print(strconv.Quote(string(data)))
	}
	return err
}

func (c *call) children() error {
	if !c.view().Exists(c.arg(0)) {
		return fmt.Errorf("children of %q: %w", c.arg(0), zktest.ErrNoNode)
	}
	for _, name := range c.view().Children(c.arg(0)) {
		c.print(name)
	}
	return nil
}

func (c *call) setSequence() error {
	next, err := strconv.ParseInt(c.arg(1), 10, 32)
	if err != nil {
		return fmt.Errorf("%q: no number from %d to %d", c.arg(1), math.MinInt32, math.MaxInt32)
	}
	return c.t.head().SetSequence(c.arg(0), int32(next))
}

func (c *call) reap() error {
	c.print(strconv.Itoa(c.t.head().ReapContainers()))
	return nil
}

func (c *call) leader() error {
	s := c.t.ensemble.Leader()
	if s == nil {
		return errors.New("there is no leader: heal or restart brings back a majority, and await-leader waits for an election")
	}
	c.printNumber(s)
	return nil
}

// awaitLeader keeps the commands behind it waiting, for as long as it was told.
func (c *call) awaitLeader() error {
	d, err := duration(c.arg(0))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	s, err := c.t.ensemble.AwaitLeader(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("there is no leader after %v", d)
	case err != nil:
		return err
	}
	c.printNumber(s)
	return nil
}

func (c *call) printNumber(of *zktest.Server) {
	for i, s := range c.t.servers {
		if s == of {
			c.print(strconv.Itoa(i + 1))
		}
	}
}

func (c *call) depose() error {
	old := c.t.ensemble.Depose()
	if old == nil {
		return errors.New("there is no leader")
	}
	c.printNumber(old)
	return nil
}

func (c *call) onServer(fault func(*zktest.Server)) error {
	k, err := c.t.number(c.arg(0))
	if err == nil {
		fault(c.t.servers[k])
	}
	return err
}

func (c *call) isolate() error { return c.onServer(c.t.ensemble.Isolate) }
func (c *call) kill() error    { return c.onServer(c.t.ensemble.Kill) }
func (c *call) restart() error { return c.onServer(c.t.ensemble.Restart) }

func (c *call) lag() error {
	d, err := duration(c.arg(1))
	if err != nil {
		return err
	}
	return c.onServer(func(s *zktest.Server) { c.t.ensemble.Lag(s, d) })
}
