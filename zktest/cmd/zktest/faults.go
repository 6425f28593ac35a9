package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zkfence/zkfence/zktest"
)

func (c *call) each(fault func(*zktest.Target)) error {
	for _, on := range c.on {
		fault(on)
	}
	return nil
}

func (c *call) opTimes(fault func(*zktest.Target, zktest.Op, int)) error {
	o, err := op(c.arg(0))
	if err != nil {
		return err
	}
	n, err := times(c.arg(1))
	if err != nil {
		return err
	}
	return c.each(func(on *zktest.Target) { fault(on, o, n) })
}

func (c *call) dropReply() error   { return c.opTimes((*zktest.Target).DropReply) }
func (c *call) dropRequest() error { return c.opTimes((*zktest.Target).DropRequest) }

func (c *call) failReply() error {
	o, err := op(c.arg(0))
	if err != nil {
		return err
	}
	code, err := code(c.arg(1))
	if err != nil {
		return err
	}
	n, err := times(c.arg(2))
	if err != nil {
		return err
	}
	return c.each(func(on *zktest.Target) { on.FailReply(o, code, n) })
}

func (c *call) times(fault func(*zktest.Target, int)) error {
	n, err := times(c.arg(0))
	if err != nil {
		return err
	}
	return c.each(func(on *zktest.Target) { fault(on, n) })
}

func (c *call) steal() error      { return c.times((*zktest.Target).Steal) }
func (c *call) newSession() error { return c.times((*zktest.Target).NewSession) }

func (c *call) switched(set func(*zktest.Target, bool)) error {
	on, err := isOn(c.arg(0))
	if err != nil {
		return err
	}
	return c.each(func(t *zktest.Target) { set(t, on) })
}

func (c *call) freeze() error {
	d, ok := map[string]zktest.Direction{"": zktest.BothWays, "to-server": zktest.ToServer, "to-client": zktest.ToClient}[c.arg(0)]
	if !ok {
		return fmt.Errorf("%q: must be to-server or to-client, or nothing for both", c.arg(0))
	}
	return c.each(func(on *zktest.Target) { on.Freeze(d) })
}

// heal takes back what goes on between servers as well, unless it is told less.
func (c *call) heal() error {
	if c.t.ensemble != nil && !c.scoped {
		c.t.ensemble.Heal()
	}
	return c.each((*zktest.Target).Heal)
}

func (c *call) count() error {
	o := zktest.AnyOp
	if name := c.arg(0); name != "" {
		var err error
		if o, err = op(name); err != nil {
			return err
		}
	}
	sum := 0
	for _, on := range c.on {
		sum += on.Count(o)
	}
	c.print(strconv.Itoa(sum))
	return nil
}

func (c *call) pending() error {
	sum := 0
	for _, on := range c.on {
		sum += on.Pending()
	}
	c.print(strconv.Itoa(sum))
	return nil
}

func (c *call) resetCounts() error {
	for _, f := range c.t.faults {
		f.ResetCounts()
	}
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
	for i, on := range c.on {
		if len(c.on) > 1 {
			c.print(fmt.Sprintf("server %d", i+1))
		}
		for line := range strings.Lines(on.Trace(n)) {
			c.print(strings.TrimSuffix(line, "\n"))
		}
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
