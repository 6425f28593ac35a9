package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/examples/internal/fenced"
	"github.com/zkfence/zkfence/zktest"
)

// play is the parent's side.
type play struct {
	servers    []string // of a real ensemble; none: an in-memory server is started
	candidates int
	timeout    time.Duration // of sessions, to ask for
	limit      time.Duration // of the whole
	freeze     bool
	script     bool
	keys       io.Reader // nil: none
	out        io.Writer
	screen     *screen // nil: out is no terminal, or a small one
	small      size    // of a terminal on which the table has no room; zero: none

	tl     *cast.Timeline
	ledger *ledger
	troupe *troupe
}

func (p *play) say(format string, args ...any) {
	p.tl.Line("parent", "", "", fmt.Sprintf(format, args...))
}

// run plays, ends every process that it has started, and judges the ledger's
// history. It returns nil only if that holds what was promised.
func (p *play) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.limit, fmt.Errorf("over after -for %v", p.limit))
	defer cancel()

	if p.ledger == nil {
		p.ledger = newLedger()
	}
	to := p.out
	if p.screen != nil {
		to = p.screen.tape
	}
	p.tl = cast.NewTimeline(to)
	if p.small != (size{}) {
		p.say("no table: it needs %d columns and %d lines, and this terminal has %d and %d", leastColumns, leastLines, p.small.columns, p.small.lines)
	}
	if p.keys != nil && p.screen == nil {
		p.say("type %s", helpKeys)
		p.say("%s", helpAlone)
	}
	p.troupe = newTroupe(p.tl)
	p.ledger.told = p.troupe.note
	stop := p.tell
	if p.screen != nil {
		p.screen.picture = p.troupe.picture
		stop = p.screen.run
	}
	ended := stop()
	err := p.perform(ctx)
	ended()
	return errors.Join(err, p.judge(err == nil))
}

func (p *play) perform(ctx context.Context) (err error) {
	servers, where := p.servers, "ZooKeeper at "+strings.Join(p.servers, ",")
	if len(servers) == 0 {
		zk, err := zktest.Start()
		if err != nil {
			return err
		}
		defer zk.Close()
		servers, where = []string{zk.Addr()}, "in-memory ZooKeeper at "+zk.Addr()
	}
	p.say("%s", where)
	if p.screen != nil {
		p.screen.title.Store(fmt.Sprintf("%s · session timeout %v", where, p.timeout))
	}

	secret := rand.Text()
	url, closeLedger, err := fenced.Serve(ctx, fenced.Authenticated(secret, p.ledger.handler()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLedger()) }()
	p.say("ledger at %sledger", url)

	t := p.troupe
	t.servers, t.freeze = servers, p.freeze
	t.job = assignment{
		Timeout: p.timeout,
		Path:    "/zkfence-leader/" + strings.ToLower(rand.Text()[:8]), // runs must not meet, nor their tokens at one ledger
		Ledger:  url + "ledger", Secret: secret,
	}
	stopObserving, err := p.observe(ctx, servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopObserving()) }()

	// Not ctx: whoever leads when it ends shall still resign.
	lives, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer func() {
		if err != nil {
			kill() // their work is of no interest any more
		}
		failed := t.dismiss(kill)
		if err == nil && p.script {
			err = failed // elsewhere people may end them as they like
		}
	}()
	for range p.candidates {
		if err := t.add(lives); err != nil {
			return err
		}
	}
	if p.script {
		return p.story(ctx)
	}
	return p.interact(ctx, lives)
}

// observe keeps the troupe informed about who leads, as anybody can be who does
// not stand for election.
func (p *play) observe(ctx context.Context, servers []string) (stop func() error, err error) {
	client, err := dial(ctx, servers, p.timeout, "observer")
	if err != nil {
		return nil, err
	}
	e, err := election.New(client, p.troupe.job.Path, "observer")
	if err != nil {
		return nil, errors.Join(err, hangUp(ctx, client, p.timeout))
	}
	observing, cancel := context.WithCancel(ctx)
	observed := make(chan error, 1)
	go func() {
		for l, err := range e.Observe(observing) {
			if err != nil {
				observed <- err
				return
			}
			p.troupe.change(func() { p.troupe.leader = l })
			if l.Info == "" {
				p.tl.Line("watch", "", "", "nobody leads")
				continue
			}
			p.tl.Line("watch", epoch(l), "", l.Info+" leads")
		}
		observed <- nil
	}()
	return func() error {
		cancel()
		return errors.Join(<-observed, hangUp(ctx, client, p.timeout))
	}, nil
}

// judge tells what the ledger's history shows. Only one that is complete can be
// said to lack something, and of none at all there is nothing to be said.
func (p *play) judge(complete bool) error {
	history := p.ledger.decisions()
	if len(history) == 0 && !complete {
		return nil
	}
	proof, err := prove(history)
	if err == nil && p.script && complete {
		err = proof.whole()
	}
	for _, line := range proof.lines() {
		p.tl.Line("proof", "", "", line)
	}
	if err != nil {
		p.tl.Line("proof", "", "", "FAILED: "+err.Error())
		return fmt.Errorf("the ledger's history: %w", err)
	}
	p.tl.Line("proof", "", "", "accepted stamps never went backwards")
	return nil
}
