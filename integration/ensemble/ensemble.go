package ensemble

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
)

// TB is what New needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Ensemble is a number of ZooKeeper servers in containers. Its methods and those
// of its servers are safe for concurrent use, but two faults at once on one server
// come in either order.
type Ensemble struct {
	docker  *testcontainers.DockerClient
	opts    options
	id      string
	labels  map[string]string
	place   place
	clients *testcontainers.DockerNetwork
	quorum  *testcontainers.DockerNetwork
	servers []*Server
}

// New starts an Ensemble for a test and closes it when the test ends. It skips the
// test if no container engine answers, and fails it if the servers cannot be
// started.
func New(tb TB, opts ...Option) *Ensemble {
	tb.Helper()
	e, err := Start(tb.Context(), opts...)
	switch {
	case errors.Is(err, ErrNoEngine):
		tb.Skipf("SKIPPED: %v", err)
		return nil
	case err != nil:
		tb.Fatalf("%v", err)
		return nil
	}
	tb.Cleanup(func() {
		// The test's own context is over by now.
		if err := e.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Fatalf("%v", err)
		}
	})
	return e
}

// placeTries is how many places Start tries before it gives up.
const placeTries = 5

// ErrNoImage is what Start returns where the image is neither here nor to be
// fetched. Its text says what to do.
var ErrNoImage = errors.New("there is no image to run")

// Start starts an Ensemble and returns once a leader leads, all servers serve, and
// a session has written. It returns an error matching ErrNoEngine if no container
// engine answers, and one matching ErrNoImage if there is nothing to run. ctx bounds
// the start alone.
func Start(ctx context.Context, opts ...Option) (*Ensemble, error) {
	o, err := gather(opts)
	if err != nil {
		return nil, err
	}
	docker, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := sweep(ctx, docker); err != nil {
		return nil, errors.Join(fmt.Errorf("ensemble: what earlier runs have left: %w", err), docker.Close())
	}
	for try := 1; ; try++ {
		e := &Ensemble{docker: docker, opts: o, id: strings.ToLower(rand.Text()[:10])}
		err := e.start(ctx)
		if err == nil {
			return e, nil
		}
		err = fmt.Errorf("ensemble: start: %w", err)
		if try == placeTries || !taken(err) {
			return nil, errors.Join(err, e.Close(ctx))
		}
		if err := e.clean(ctx); err != nil {
			return nil, errors.Join(err, docker.Close())
		}
	}
}

// taken reports whether the engine has refused a port or a subnet that another has.
func taken(err error) bool {
	for _, said := range []string{"port is already allocated", "address already in use", "Pool overlaps", "overlaps with other one"} {
		if strings.Contains(err.Error(), said) {
			return true
		}
	}
	return false
}

func (e *Ensemble) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.opts.patience, fmt.Errorf("not serving after %v", e.opts.patience))
	defer cancel()
	owner, err := owner()
	if err != nil {
		return err
	}
	e.labels = map[string]string{ensembleLabel: e.id, ownerLabel: owner}
	if e.place, err = findPlace(e.opts.servers); err != nil {
		return err
	}
	if e.clients, err = network.New(ctx, network.WithLabels(e.labels)); err != nil {
		return err
	}
	if e.quorum, err = network.New(ctx, network.WithLabels(e.labels), network.WithInternal(), network.WithIPAM(e.place.ipam())); err != nil {
		return err
	}
	for i := range e.opts.servers {
		e.servers = append(e.servers, &Server{e: e, id: i + 1})
	}
	err = each(e.servers, func(s *Server) error { return s.create(ctx) })
	if err == nil {
		err = each(e.servers, func(s *Server) error { return s.Start(ctx) })
	}
	if err != nil {
		return e.explain(ctx, err)
	}
	return e.Await(ctx)
}

// explain says what can be done where the error is that there is no image.
func (e *Ensemble) explain(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout) // also where the start has run out of time
	defer cancel()
	if _, missing := e.docker.ImageInspect(ctx, e.opts.image); missing == nil {
		return err
	}
	return noImage(e.opts.image, err)
}

// noImage takes of why the first line alone: every server says the same.
func noImage(image string, why error) error {
	first, _, _ := strings.Cut(why.Error(), "\n")
	return fmt.Errorf("%w: %s is not on this machine and cannot be fetched. Set %s to the name of one that is; on a Debian machine integration/image/build.sh makes one and prints its name: image=$(integration/image/build.sh) && %s=$image go test -p 1 -timeout 25m work. (%s)", ErrNoImage, image, imageEnv, imageEnv, first)
}

// Servers returns the servers, in the order of their ids.
func (e *Ensemble) Servers() []*Server { return append([]*Server(nil), e.servers...) }

// Server returns the server with that id, from 1. It panics if there is none.
func (e *Ensemble) Server(id int) *Server { return e.servers[id-1] }

// Addrs returns where clients reach the servers, "127.0.0.1:port" each, in the
// order of their ids. They stay the same for the life of the Ensemble.
func (e *Ensemble) Addrs() []string {
	addrs := make([]string, len(e.servers))
	for i, s := range e.servers {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Tick returns the servers' tickTime.
func (e *Ensemble) Tick() time.Duration { return e.opts.tick }

// SyncTime returns how long it takes servers to notice each other's silence:
// syncLimit ticks.
func (e *Ensemble) SyncTime() time.Duration { return time.Duration(e.opts.syncLimit) * e.opts.tick }

// Rebuild kills all servers and starts an ensemble anew at the same addresses,
// with nothing of what was stored: zxids start again from small numbers. It takes
// back every fault but those of Routes, and returns once the servers serve, within
// what WithPatience says.
func (e *Ensemble) Rebuild(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.opts.patience, fmt.Errorf("not serving after %v", e.opts.patience))
	defer cancel()
	// All go before the first comes back, or what it has lost would be taught to it.
	if err := each(e.servers, func(s *Server) error { return s.Wipe(ctx) }); err != nil {
		return err
	}
	if err := each(e.servers, func(s *Server) error { return s.Start(ctx) }); err != nil {
		return err
	}
	return e.Await(ctx)
}

// Close removes the servers and their networks. It does what it can even after ctx
// has ended, for 30 s at most. Close again does nothing.
func (e *Ensemble) Close(ctx context.Context) error {
	return errors.Join(e.clean(ctx), e.docker.Close())
}

// CloseAll removes all that this process has started, for one that must end at once,
// by a signal say, and whose Ensembles are others' to close. They are of no use
// afterwards, but closing them is no error. What is being started meanwhile can
// remain; the next Start on this machine removes it. It takes 30 s at most, and
// returns an error matching ErrNoEngine if no container engine answers.
func CloseAll(ctx context.Context) error {
	owner, err := owner()
	if err != nil {
		return err
	}
	docker, err := connect(ctx)
	if err != nil {
		return err
	}
	err = remove(ctx, docker, ownerLabel+"="+owner, func(map[string]string) bool { return true })
	if err != nil {
		err = fmt.Errorf("ensemble: clean-up: %w", err)
	}
	return errors.Join(err, docker.Close())
}

func (e *Ensemble) clean(ctx context.Context) error {
	if err := remove(context.WithoutCancel(ctx), e.docker, ensembleLabel+"="+e.id, func(map[string]string) bool { return true }); err != nil {
		return fmt.Errorf("ensemble: clean-up: %w", err)
	}
	return nil
}

// logTail is how many lines of a server's log an error quotes.
const logTail = "8"

// lastWords returns the end of every server's log.
func (e *Ensemble) lastWords() string {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout) // asked for when another has ended
	defer cancel()
	var b strings.Builder
	for _, s := range e.servers {
		fmt.Fprintf(&b, "\nserver %d:\n%s", s.id, s.log(ctx, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: logTail}))
	}
	return b.String()
}
