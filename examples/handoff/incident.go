package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zktest"
)

const (
	reportName = "reports/2026-07.csv"
	reportRaw  = "region,revenue,note\nnorth,1200,\nsouth,950,\nwest,1730,\n"
)

// incident is the parent's side of the story.
type incident struct {
	servers []string      // of a real ensemble; none: an in-memory server is started
	timeout time.Duration // to ask for
	granted time.Duration // W1's session's, once it is connected
	freeze  bool
	store   string // of storeKinds; none: the first
	source  string // of a PostgreSQL
	tl      *cast.Timeline
}

func (s *incident) say(format string, args ...any) {
	s.tl.Line("parent", "", "", fmt.Sprintf(format, args...))
}

func (s *incident) run(ctx context.Context) (err error) {
	ctx, abandon := context.WithCancelCause(ctx)
	cancel := func() { abandon(nil) }
	defer cancel() // kills what is left of the workers, if anything
	limit := time.AfterFunc(longest(s.timeout), func() { abandon(errTooLong) })
	defer limit.Stop()

	servers := s.servers
	if len(servers) == 0 {
		zk, err := zktest.Start()
		if err != nil {
			return err
		}
		defer zk.Close()
		servers = []string{zk.Addr()}
		s.say("in-memory ZooKeeper at %s", zk.Addr())
	} else {
		s.say("ZooKeeper at %s", strings.Join(servers, ","))
	}

	kind, err := findStore(cmp.Or(s.store, storeKinds()[0].name))
	if err != nil {
		return err
	}
	store, err := kind.make(ctx, s.source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	s.say("the report is in %s", store.what)

	pause, err := cast.NewPauser(s.freeze, servers)
	if err != nil {
		return err
	}
	defer pause.Close()

	job := assignment{
		Timeout: s.timeout,
		Lock:    "/zkfence-handoff/" + strings.ToLower(rand.Text()[:8]), // runs must not meet, nor their tokens at one store
		Report:  store.place,
	}
	job.Servers = pause.Servers
	w1, err := startWorker(ctx, "W1", job, s.tl)
	if err != nil {
		return err
	}
	defer s.end(&err, cancel, w1)
	connected, err := w1.await(ctx, saysConnected)
	if err != nil {
		return err
	}
	s.granted = connected.Timeout
	limit.Reset(longest(s.granted))
	if _, err := w1.await(ctx, saysReady); err != nil {
		return err
	}

	job.Servers = servers
	w2, err := startWorker(ctx, "W2", job, s.tl)
	if err != nil {
		return err
	}
	defer s.end(&err, cancel, w2)
	if _, err := w2.await(ctx, saysWaiting); err != nil {
		return err
	}

	published, err := s.handOver(ctx, pause, w1, w2)
	if err != nil {
		return err
	}
	refused, err := s.lateWrite(ctx, w1)
	if err != nil {
		return err
	}
	return s.verify(ctx, store, published, refused)
}

var errTooLong = errors.New("the story takes too long")

// longest bounds the story. What a server grants can be many times what it was
// asked for.
func longest(timeout time.Duration) time.Duration { return 10*timeout + 30*time.Second }

// handOver pauses W1 until W2 has published.
func (s *incident) handOver(ctx context.Context, pause *cast.Pauser, w1, w2 *process) (published says, err error) {
	if err := pause.Pause(w1.Process); err != nil {
		return says{}, err
	}
	s.say("W1 is %s, between its check and its write", pause.What)
	stopProgress := s.progress(pause.What)
	_, err = w2.await(ctx, saysReady)
	stopProgress()
	if err != nil {
		return says{}, err
	}
	if err := w2.Order(orderWrite); err != nil {
		return says{}, err
	}
	if published, err = w2.await(ctx, saysPublished, saysRefused); err != nil {
		return says{}, err
	}
	if published.What != saysPublished {
		return says{}, fmt.Errorf("W2 was refused: %s", published.Text)
	}
	s.say("W1 goes on, and sends its write")
	return published, pause.Resume(w1.Process)
}

// progress says every second how long the pause lasts.
func (s *incident) progress(what string) (stop func()) {
	began := time.Now()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				s.say("… W1 has been %s for %.0f s, its session timeout is %v", what, time.Since(began).Seconds(), s.granted)
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// lateWrite lets W1 write, and wants it refused.
func (s *incident) lateWrite(ctx context.Context, w1 *process) (refused says, err error) {
	if err := w1.Order(orderWrite); err != nil {
		return says{}, err
	}
	if refused, err = w1.await(ctx, saysPublished, saysRefused); err != nil {
		return says{}, err
	}
	if refused.What != saysRefused {
		return says{}, errors.New("W1's late write was accepted")
	}
	_, err = w1.await(ctx, saysLost)
	return refused, err
}

// verify looks at the store itself.
func (s *incident) verify(ctx context.Context, store *protected, published, refused says) error {
	report, last, err := store.read(ctx)
	if err != nil {
		return fmt.Errorf("reading the store: %w", err)
	}
	stale := &fencing.StaleError{Presented: refused.Presented, Highest: refused.Highest}
	switch {
	case published.Token.Compare(refused.Token) <= 0:
		return fmt.Errorf("W2's token %v is not larger than W1's %v", published.Token, refused.Token)
	case last.Token != published.Token:
		return fmt.Errorf("the store remembers %v, not W2's %v", last, published.Token)
	case !errors.Is(stale, fencing.ErrStale), refused.Presented.Token != refused.Token, refused.Highest.Token != published.Token:
		return fmt.Errorf("W1 was refused for the wrong reason: %w", stale)
	case !bytes.Contains(report, []byte("by W2 with "+published.Token.String())), bytes.Contains(report, []byte("W1")):
		return fmt.Errorf("the store does not hold W2's report:\n%s", report)
	}
	s.tl.Line("parent", last.Token.String(), "", "the store holds W2's report; W1's late write with "+refused.Token.String()+" changed nothing")
	for line := range strings.Lines(string(report)) {
		s.say("    %s", strings.TrimRight(line, "\r\n"))
	}
	return nil
}

// end waits for a worker; after a failure it does not wait for its work.
func (s *incident) end(err *error, kill context.CancelFunc, p *process) {
	if *err != nil {
		kill()
		_ = p.End() // killed, so what it says is no news
		return
	}
	if e := p.End(); e != nil {
		*err = fmt.Errorf("%s: %w", p.Name, e)
	}
}
