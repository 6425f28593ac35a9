package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// session reads a session's id as clients print it: decimal, or hexadecimal after
// 0x.
func session(text string) (int64, error) {
	if id, err := strconv.ParseUint(text, 0, 64); err == nil && id != 0 {
		return int64(id), nil
	}
	// A server's ids may be negative; Java and Python print them with their sign.
	if id, err := strconv.ParseInt(text, 0, 64); err == nil && id != 0 {
		return id, nil
	}
	return 0, fmt.Errorf("%q: no session id, which is decimal or 0x and hexadecimal", text)
}

// op reads the name of an operation, or "any".
func op(text string) (zktest.Op, error) {
	if text == "any" {
		return zktest.AnyOp, nil
	}
	o, ok := wire.OpNamed(text)
	if !ok || o == wire.OpNotify || o == wire.OpError {
		return 0, fmt.Errorf("%q: no operation; they are called as in create, getChildren2 or closeSession, and any is all but ping and createSession", text)
	}
	return o, nil
}

func times(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q: no number of times, which is 1 unless given, and -1 for always", text)
	}
	return n, nil
}

func (c *call) opTimes(fault func(zktest.Op, int)) error {
	o, err := op(c.arg(0))
	if err != nil {
		return err
	}
	n, err := times(c.arg(1))
	if err == nil {
		fault(o, n)
	}
	return err
}

func (c *call) dropReply() error   { return c.opTimes(c.on.DropReply) }
func (c *call) dropRequest() error { return c.opTimes(c.on.DropRequest) }

func (c *call) steal() error {
	n, err := times(c.arg(0))
	if err == nil {
		c.on.Steal(n)
	}
	return err
}

func (c *call) newSession() error {
	n, err := times(c.arg(0))
	if err == nil {
		c.on.NewSession(n)
	}
	return err
}

func (c *call) switched(set func(bool)) error {
	switch on := c.arg(0); on {
	case "on", "off":
		set(on == "on")
		return nil
	default:
		return fmt.Errorf("%q: must be on or off", on)
	}
}

func (c *call) freeze() error {
	switch d := c.arg(0); d {
	case "":
		c.on.Freeze(zktest.BothWays)
	case "to-server":
		c.on.Freeze(zktest.ToServer)
	case "to-client":
		c.on.Freeze(zktest.ToClient)
	default:
		return fmt.Errorf("%q: must be to-server or to-client, or nothing for both", d)
	}
	return nil
}

func (c *call) count() error {
	o := zktest.AnyOp
	if name := c.arg(0); name != "" {
		var err error
		if o, err = op(name); err != nil {
			return err
		}
	}
	c.print(strconv.Itoa(c.on.Count(o)))
	return nil
}

func (c *call) trace() error {
	n := 20
	if text := c.arg(0); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			return fmt.Errorf("%q: no number of lines", text)
		}
	}
	for line := range strings.Lines(c.on.Trace(n)) {
		c.print(strings.TrimSuffix(line, "\n"))
	}
	return nil
}

func (c *call) expire() error {
	id, err := session(c.arg(0))
	if err != nil {
		return err
	}
	return c.t.expire(id)
}

func (c *call) sessions() error {
	for _, s := range c.t.server.Sessions() {
		connected := "disconnected"
		if s.Connected {
			connected = "connected"
		}
		c.print(strings.TrimSpace(fmt.Sprintf("%#x %v %s %s", uint64(s.ID), s.Timeout, connected, strings.Join(s.Ephemerals, " "))))
	}
	return nil
}

func (c *call) create() error { return c.t.server.Create(c.arg(0), []byte(c.arg(1))) }

func (c *call) delete() error { return c.t.server.Delete(c.arg(0)) }

func (c *call) get() error {
	data, _, err := c.t.server.Get(c.arg(0))
	if err == nil {
		// Quoted, because data may have lines of its own.
		c.print(strconv.Quote(string(data)))
	}
	return err
}

func (c *call) children() error {
	if !c.t.server.Exists(c.arg(0)) {
		return fmt.Errorf("children of %q: %w", c.arg(0), zktest.ErrNoNode)
	}
	for _, name := range c.t.server.Children(c.arg(0)) {
		c.print(name)
	}
	return nil
}

func (c *call) setSequence() error {
	next, err := strconv.ParseInt(c.arg(1), 10, 32)
	if err != nil {
		return fmt.Errorf("%q: no number from %d to %d", c.arg(1), math.MinInt32, math.MaxInt32)
	}
	return c.t.server.SetSequence(c.arg(0), int32(next))
}

func (c *call) reap() error {
	c.print(strconv.Itoa(c.t.server.ReapContainers()))
	return nil
}
