package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/session"
)

// enrol returns nil once a node of this place is known by name. Any error is
// final for the place: ctx's cause, the session's *session.LostError, or a
// refusal; in each case Leave cleans up.
func (p *Place) enrol(ctx context.Context) error {
	r := retry{s: p.s}
	for made := 0; p.path == ""; {
		r.begin()
		if p.unsettled {
			err := p.recover(ctx)
			switch {
			case err != nil && session.OutcomeOf(err) == session.OutcomeRefused:
				return fmt.Errorf("search for a create that was not answered: %w", err)
			case err != nil:
				if err := r.pause(ctx); err != nil {
					return err
				}
			}
			continue
		}
		path, err := p.tryCreate(ctx)
		switch session.OutcomeOf(err) {
		case session.OutcomeDone:
			if !p.is(path) {
				p.unsettled, p.doubted = true, true
				return fmt.Errorf("create: the server answered with %q, which is not a name it can have given", path)
			}
			p.proven = true
		case session.OutcomeRefused:
			if errors.Is(err, zk.ErrNodeExists) {
				// Past the end of the sequence two creates of one GUID get one name.
				p.unsettled, p.doubted = true, true
				if err := r.pause(ctx); err != nil {
					return err
				}
				continue
			}
			if !errors.Is(err, zk.ErrNoNode) {
				return fmt.Errorf("create: %w", err)
			}
			if made++; made > maxParents {
				return fmt.Errorf("create: the directory is deleted again and again: %w", err)
			}
			if err := p.parents(ctx); err != nil {
				return err
			}
		default:
			if err := r.pause(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryCreate sends one create and waits for its call to return. If ctx or the
// session ends first, the call is left running in p.create.
func (p *Place) tryCreate(ctx context.Context) (string, error) {
	if err := stopped(ctx, p.s); err != nil {
		return "", err // nothing was sent, and pause will say so again
	}
	name, acl := p.line.pathOf(prefix(p.guid)), p.line.acl()
	p.create = session.Start(p.s, func(c *zk.Conn) (string, error) {
		return c.Create(name, p.line.Data, zk.FlagEphemeral|zk.FlagSequence, acl)
	})
	select {
	case <-p.create.Done():
	case <-ctx.Done():
		return "", session.Ended(ctx)
	case <-p.s.Context().Done():
		return "", context.Cause(p.s.Context())
	}
	return p.created()
}

// created takes in the result of a create whose call has returned.
func (p *Place) created() (string, error) {
	path, err := p.create.Result()
	p.create = nil
	if session.OutcomeOf(err) == session.OutcomeUnknown {
		p.unsettled, p.doubted = true, true
		p.line.Log.Debug("create of unknown outcome", zap.String("dir", p.line.Dir), zap.String("guid", p.guid), zap.Error(err))
	}
	return path, err
}

// recover settles a create that returned without an answer: afterwards either a
// node is ours, or there is none.
func (p *Place) recover(ctx context.Context) error {
	found, err := p.search(ctx)
	if err != nil {
		return err
	}
	p.unsettled = false
	for i, t := range found {
		path := p.line.pathOf(t.child)
		if i == 0 && p.is(path) {
			continue
		}
		p.owe(path)
	}
	return nil
}

type twin struct {
	child string
	czxid int64
}

// search lists the nodes of our GUID and our session, oldest first. What it
// does not find does not exist and never will, provided that every create's
// call had returned before it began.
func (p *Place) search(ctx context.Context) ([]twin, error) {
	// Only after the proof has been answered is the server that answers the list
	// known to have applied our create; asked at the same time, it can miss it.
	if err := p.s.Prove(ctx, p.line.Dir); err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNoAuth) {
		return nil, err
	}
	children, err := p.s.Children(ctx, p.line.Dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	children = slices.DeleteFunc(slices.Clone(children), func(child string) bool { return !carries(child, p.guid) })
	stats, err := stats(ctx, p.s, p.line, children)
	if err != nil {
		return nil, err
	}
	var found []twin
	for child, st := range stats {
		if st.EphemeralOwner == p.s.ID() {
			found = append(found, twin{child, st.Czxid})
		}
	}
	slices.SortFunc(found, func(a, b twin) int {
		if a.czxid < b.czxid {
			return -1
		}
		return 1
	})
	return found, nil
}
