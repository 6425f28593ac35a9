package casfence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Guard publishes contents under names in one Store. Any number of Guards, anywhere,
// may share it. It is safe for concurrent use. Make it with New; the zero Guard
// refuses everything.
type Guard struct {
	store Store
	mu    sync.Mutex
	known map[string]pointer // by name: what this Guard's last command left
}

// New returns a guard. It keeps everything below "pointers/" and "objects/" in s.
func New(s Store) (*Guard, error) {
	if s == nil {
		return nil, errors.New("casfence: New was given no store")
	}
	// Mostly that of an OpenFiles or s3.Open whose error was not looked at. It would
	// panic in the middle of somebody's command.
	if v := reflect.ValueOf(s); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("casfence: New was given a nil %T", s)
	}
	return &Guard{store: s, known: make(map[string]pointer)}, nil
}

var errNotMade = errors.New("casfence: guard was not made by New")

func (g *Guard) begin(ctx context.Context, name string) error {
	if g == nil || g.store == nil {
		return errNotMade
	}
	if err := fencing.ValidateResource(name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fencing.Named(name, fencing.Ended(ctx))
	}
	return nil
}

// Publish replaces the content under name by what build returns, if s may act.
//
// It returns nil once the pointer has moved; a *fencing.StaleError, or an error
// matching fencing.ErrZeroToken, ErrZeroSeq or ErrBadResource, if the command is
// refused, mostly without calling build; build's error as it is, if nothing has been
// published nor will be, of earlier calls with this Stamp either; an error matching
// fencing.ErrUnknownOutcome, and perhaps build's too, if it cannot tell whether the
// command is applied: try again with the same Stamp. After any other error this call
// has published nothing. A newer Token is remembered before build is called.
//
// Nothing is locked while build runs, so another command can be applied meanwhile,
// and this one is then refused. Commands of the same owner that run at once are
// ordered by Seq alone: one that builds on what is published (Get it after Raise, or
// within build) needs the owner's own commands to come one after the other.
//
// It costs a read and two writes, and one more write for the first command of an
// owner that did not raise the floor; where build fails, one write in place of two. The read is spared as long as this Guard's own
// last command is the last that there was; if it was not, that costs two requests more.
func (g *Guard) Publish(ctx context.Context, name string, s fencing.Stamp, build func(ctx context.Context) ([]byte, error)) error {
	if build == nil {
		return errors.New("casfence: Publish was given no function")
	}
	if err := g.begin(ctx, name); err != nil {
		return err
	}
	seen, ok := g.recall(name, s)
	if !ok {
		var err error
		if seen, err = g.admit(ctx, name, s); err != nil {
			return err
		}
	}
	content, err := build(ctx)
	if err != nil {
		return g.failed(ctx, name, s, &seen, err)
	}
	for range rounds {
		object := g.objectKey(name, s)
		if err := g.deposit(ctx, object, content); err != nil {
			return g.failed(ctx, name, s, &seen, fmt.Errorf("casfence: %q was not published: write %s: %w", name, object, err))
		}
		now, err := g.update(ctx, name, &seen, func(r record) (record, error) {
			floor, refusal := fencing.Check(r.Last, s)
			switch {
			case refusal != nil:
				r.Last = floor
				return r, fencing.Named(name, refusal)
			case r.Swept != seen.Swept: // since before the deposit: see Sweep
				r.Last = floor
				return r, errSwept
			}
			r.Last, r.Object = s, object
			return r, nil
		})
		if !errors.Is(err, errSwept) {
			g.remember(name, now, err == nil)
			return err
		}
		seen = now
	}
	return g.failed(ctx, name, s, &seen, fmt.Errorf("casfence: %q was swept %d times meanwhile and not published: try again", name, rounds))
}

// recall returns what this Guard's last command left, if by that s may act and raises
// nothing. It may be old: it can let a command in, which then finds its version gone,
// but must refuse nobody, since an Override may have come.
func (g *Guard) recall(name string, s fencing.Stamp) (pointer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, ok := g.known[name]
	floor, refusal := fencing.Check(known.Last, s)
	return known, ok && refusal == nil && floor == known.Last
}

// admit judges s by what is there, and raises the floor.
func (g *Guard) admit(ctx context.Context, name string, s fencing.Stamp) (pointer, error) {
	return g.update(ctx, name, nil, func(r record) (record, error) {
		var refusal error
		r.Last, refusal = fencing.Check(r.Last, s)
		return r, fencing.Named(name, refusal)
	})
}

// failed is the answer why, of a command that was admitted by what seen says and has
// not come to move the pointer.
//
// The invariant: "not applied", once said of a Stamp, stays true. A write of an
// earlier call that ended as unknown may still be under way:
//
//	a retry reads the pointer, version v
//	                                     the lost write lands on v
//	build reads what that published, and fails ("paid already")
//
// And it may land after the retry has answered. So the pointer is moved from v, with
// all that it says: either something had moved it, and this one is judged anew, or
// nothing ever lands on v. The same tells a command that was admitted by what this
// Guard recalled, and is no longer so.
func (g *Guard) failed(ctx context.Context, name string, s fencing.Stamp, seen *pointer, why error) error {
	now, err := g.update(ctx, name, seen, func(r record) (record, error) {
		var refusal error
		r.Last, refusal = fencing.Check(r.Last, s)
		r.touch = refusal == nil
		return r, fencing.Named(name, refusal)
	})
	g.remember(name, now, err == nil)
	switch {
	case err == nil:
		return why
	case isRefusal(err):
		return err
	}
	return fmt.Errorf("%w: casfence: %q failed, and whether an earlier try was applied cannot be told (%w): %w", fencing.ErrUnknownOutcome, name, err, why)
}

// isRefusal reports whether err is the refusal itself: within another, as in what a
// store says of a context that has ended, it can be another resource's.
func isRefusal(err error) bool {
	_, is := err.(*fencing.StaleError) //nolint:errorlint // see above
	return is
}

// remember keeps the pointer for the next command, of a bounded number of names.
func (g *Guard) remember(name string, p pointer, good bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.known, name)
	if !good {
		return
	}
	if len(g.known) >= 1000 {
		clear(g.known)
	}
	g.known[name] = p
}

// deposit writes content under a key that nobody else has. A conflict is with our
// own request, delivered twice; but a pointer to nothing would lose what it pointed
// to before, so it is looked at.
func (g *Guard) deposit(ctx context.Context, key string, content []byte) error {
	_, err := g.store.Put(ctx, key, content, "")
	if !errors.Is(err, ErrConflict) {
		return err
	}
	if there, version, look := g.store.Get(ctx, key); look == nil && version != "" && bytes.Equal(there, content) {
		return nil
	}
	return err
}

// Raise makes the guard refuse every command under name that is older than t, from
// its return on; none that is under way can be applied any more. A t that is known
// already changes nothing. An older one is refused with a *fencing.StaleError, the
// zero Token with an error matching fencing.ErrZeroToken.
func (g *Guard) Raise(ctx context.Context, name string, t fencing.Token) error {
	if err := g.begin(ctx, name); err != nil {
		return err
	}
	_, err := g.update(ctx, name, nil, func(r record) (record, error) {
		var refusal error
		r.Last, refusal = fencing.CheckRaise(r.Last, t)
		return r, fencing.Named(name, refusal)
	})
	return err
}

// Get returns the content under name and the Stamp remembered with it: that of its
// command, or the floor above it. The error matches fs.ErrNotExist if nothing has
// been published; the Stamp is good then too.
func (g *Guard) Get(ctx context.Context, name string) ([]byte, fencing.Stamp, error) {
	if err := g.begin(ctx, name); err != nil {
		return nil, fencing.Stamp{}, err
	}
	p, err := g.load(ctx, name)
	if err != nil {
		return nil, fencing.Stamp{}, err
	}
	if p.Object == "" {
		return nil, p.Last, fmt.Errorf("casfence: %q: %w", name, fs.ErrNotExist)
	}
	content, version, err := g.store.Get(ctx, p.Object)
	for range rounds {
		if err != nil || version != "" {
			break
		}
		// It may have been replaced since the pointer was read, and swept.
		now, again := g.load(ctx, name)
		if again != nil {
			return nil, p.Last, again
		}
		if now.Object == p.Object {
			break
		}
		p = now
		content, version, err = g.store.Get(ctx, p.Object)
	}
	if err == nil && version == "" {
		err = errors.New("it is gone, though the pointer names it")
	}
	if err != nil {
		return nil, p.Last, fmt.Errorf("casfence: read %s, the content of %q: %w", p.Object, name, err)
	}
	return content, p.Last, nil
}

// Last returns what is remembered under name, the zero Stamp if nothing. It reads the
// pointer alone.
func (g *Guard) Last(ctx context.Context, name string) (fencing.Stamp, error) {
	if err := g.begin(ctx, name); err != nil {
		return fencing.Stamp{}, err
	}
	p, err := g.load(ctx, name)
	return p.Last, err
}

// Override puts to in place of the remembered Stamp, larger or smaller, and keeps the
// record in the same step. It is for an ensemble that was rebuilt, with all owners
// stopped: nothing protects against what they still have under way. The content
// stays as it is.
func (g *Guard) Override(ctx context.Context, name string, to fencing.Stamp, who, why string) error {
	o := fencing.Override{Resource: name, To: to, Who: who, Why: why, When: time.Now().UTC()}
	if err := errors.Join(o.Validate(), g.begin(ctx, name)); err != nil {
		return err
	}
	_, err := g.update(ctx, name, nil, func(r record) (record, error) {
		o.From, r.Last = r.Last, to
		r.Overrides = append(slices.Clone(r.Overrides), o)
		return r, nil
	})
	return err
}

// Overrides returns the records of all overrides under name, oldest first.
func (g *Guard) Overrides(ctx context.Context, name string) ([]fencing.Override, error) {
	if err := g.begin(ctx, name); err != nil {
		return nil, err
	}
	p, err := g.load(ctx, name)
	return p.Overrides, err
}
