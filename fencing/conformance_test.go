package fencing_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

// gates has a Gate and a list for each resource, which is all that a resource
// living in a process needs.
type gates struct {
	mu sync.Mutex
	of map[string]*gated
}

type gated struct {
	*fencing.Gate
	entries []string
}

func (s *gates) at(resource string) *gated {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[resource] == nil {
		g := &gated{Gate: fencing.NewGate(fencing.Stamp{})}
		g.Resource = resource
		s.of[resource] = g
	}
	return s.of[resource]
}

func (s *gates) Open(context.Context) (fencetest.Guard, error) { return s, nil }
func (s *gates) Close() error                                  { return nil }

func (s *gates) Do(ctx context.Context, c fencetest.Command) (string, error) {
	if err := fencing.ValidateResource(c.Resource); err != nil {
		return "", err
	}
	g := s.at(c.Resource)
	return "", g.Admit(ctx, c.Stamp, func() error {
		fencetest.Pause(ctx)
		if c.Fail {
			return fencetest.ErrCommand
		}
		g.entries = append(g.entries, c.Entry)
		fencetest.Pause(ctx)
		return nil
	})
}

func (s *gates) Raise(ctx context.Context, resource string, t fencing.Token) error {
	if err := fencing.ValidateResource(resource); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // a Gate's Raise takes no context
	}
	return s.at(resource).Raise(t)
}

// Read is called with no command under way.
func (s *gates) Read(_ context.Context, resource string) ([]string, fencing.Stamp, error) {
	g := s.at(resource)
	return g.entries, g.Last(), nil
}

func (s *gates) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	if err := fencing.ValidateResource(resource); err != nil {
		return err
	}
	return s.at(resource).Override(ctx, to, who, why)
}

func (s *gates) Overrides(_ context.Context, resource string) ([]fencing.Override, error) {
	return s.at(resource).Overrides(), nil
}

func TestGateKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{
		New:       func(fencetest.TB) fencetest.Store { return &gates{of: map[string]*gated{}} },
		NoRestart: true,
	})
}
