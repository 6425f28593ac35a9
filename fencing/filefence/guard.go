package filefence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/flock"
)

// home is the folder in which the guard keeps what it remembers.
const home = ".zkfence"

var errNotMade = errors.New("filefence: guard was not made by New")

// Guard publishes the files of one folder. Any number of Guards, in any number of
// processes of one machine, may share it. It is safe for concurrent use. Make it with
// New; the zero Guard refuses everything.
type Guard struct {
	root *os.Root
	mode fs.FileMode
	// step is told of each step before it is made; inert but in tests, which let
	// the process die there or have the step fail.
	step func(what string) error
}

// Option changes how a Guard is made.
type Option struct{ apply func(*Guard) error }

// WithMode sets the permissions of published files, before the umask. Those of a
// file that is replaced are not taken over. Defaults to 0644.
func WithMode(mode fs.FileMode) Option {
	return Option{func(g *Guard) error {
		if mode != mode.Perm() || mode&0o400 == 0 {
			return fmt.Errorf("filefence: mode %v: want permissions alone, and that the owner may read", mode)
		}
		g.mode = mode
		return nil
	}}
}

// New returns the guard of the folder dir, which must exist. An error matching
// errors.ErrUnsupported on systems without flock.
func New(dir string, opts ...Option) (*Guard, error) {
	if err := flock.Check(); err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	g := &Guard{root: root, mode: 0o644, step: func(string) error { return nil }}
	for _, opt := range opts {
		if opt.apply == nil {
			return nil, errors.Join(errors.New("filefence: New was given an empty option"), root.Close())
		}
		if err := opt.apply(g); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return g, nil
}

// Close gives up the folder. What was published and remembered stays.
func (g *Guard) Close() error {
	if g == nil || g.root == nil {
		return errNotMade
	}
	return g.root.Close()
}

// validate wants the name of a file in this folder and not in another.
func validate(name string) error {
	if err := fencing.ValidateResource(name); err != nil {
		return err
	}
	switch {
	case strings.ContainsRune(name, '/') || strings.ContainsRune(name, os.PathSeparator):
		return fmt.Errorf("%w: %.40q: want the name of a file without a separator; each folder has a Guard of its own", fencing.ErrBadResource, name)
	case strings.HasPrefix(name, "."):
		return fmt.Errorf("%w: %.40q begins with a dot", fencing.ErrBadResource, name)
	case len(name) > 255:
		return fmt.Errorf("%w: %.40q… has %d bytes, and a file's name at most 255", fencing.ErrBadResource, name, len(name))
	}
	return nil
}

// Publish replaces the file name by what write writes, if s may act. The resource
// that s is judged at is the file of that name in this folder.
//
// It returns nil once content and Stamp are on disk; a *fencing.StaleError, or an
// error matching fencing.ErrZeroToken, ErrZeroSeq or ErrBadResource, if the command
// is refused, mostly without calling write; write's error as it is, if s has not been
// applied by another call meanwhile; an error matching fencing.ErrUnknownOutcome, and
// perhaps write's too, if it cannot tell whether the command is applied: try again
// with the same Stamp. After any other error (a full disk, a read-only folder) this
// call has published nothing. A newer Token is remembered before write is called.
// After an error w writes nothing more, and what was written is not published, though
// write return nil.
//
// No lock is held while write runs, so that a slow or stopped writer keeps nobody
// out: another command can be applied meanwhile, and this one is then refused, for
// all that it has written. Commands of the same owner that run at once are ordered
// by Seq alone. A write that builds on what is published (read it after Raise, or
// within write) needs the owner's own commands to come one after the other.
//
// ctx bounds the waiting for the lock, and is looked at once more after write.
func (g *Guard) Publish(ctx context.Context, name string, s fencing.Stamp, write func(w io.Writer) error) error {
	if write == nil {
		return errors.New("filefence: Publish was given no function")
	}
	b, err := g.admit(ctx, name, s)
	if err != nil {
		return err
	}
	defer b.discard()
	w := &writer{file: b.file}
	if err := write(w); err != nil {
		return g.failed(ctx, name, s, err)
	}
	if err := w.failure(); err != nil {
		return g.failed(ctx, name, s, fmt.Errorf("filefence: %q was not published: its function ignored that a write failed: %w", name, err))
	}
	if err := b.flush(); err != nil {
		return g.failed(ctx, name, s, fmt.Errorf("filefence: %q was not published: %w", name, err))
	}
	return g.commit(ctx, name, s, b)
}

// admit is step 1.
func (g *Guard) admit(ctx context.Context, name string, s fencing.Stamp) (*body, error) {
	d, err := g.enter(ctx, name)
	if err != nil {
		return nil, err
	}
	defer d.leave()
	if err := d.judge(s); err != nil {
		return nil, err
	}
	return d.newBody()
}

// failed is the answer why, of a command whose body was not written. The invariant: the
// error of a command says that its Stamp was not applied, and that it may act. Without
// a second look:
//
//	A  is stopped in its function
//	B  tries the same Stamp again, and it is applied; or a newer owner publishes
//	A  goes on, fails by what it sees, and says that nothing was published
//
// Nothing can be under way: what is applied is so before the lock is given up.
func (g *Guard) failed(ctx context.Context, name string, s fencing.Stamp, why error) error {
	d, err := g.enter(ctx, name)
	if err != nil {
		return fmt.Errorf("%w: filefence: %q failed, and whether another try was applied cannot be told (%w): %w", fencing.ErrUnknownOutcome, name, err, why)
	}
	defer d.leave()
	if _, refusal := fencing.Check(d.memory.Last, s); refusal != nil {
		return fencing.Named(name, refusal)
	}
	return why
}

// commit is steps 3 to 6.
func (g *Guard) commit(ctx context.Context, name string, s fencing.Stamp, b *body) error {
	d, err := g.enter(ctx, name)
	if err != nil {
		return err
	}
	defer d.leave()
	if err := d.judge(s); err != nil {
		return err
	}
	before := d.memory
	d.memory.Last, d.memory.Body = s, b.name
	if err := d.save(); err != nil {
		if errors.Is(err, fencing.ErrUnknownOutcome) {
			b.kept = true // the memory may name it
		}
		return fmt.Errorf("filefence: publish %q: %w", name, err)
	}
	b.kept = true
	if err := d.finish(); err != nil {
		if errors.Is(err, fencing.ErrUnknownOutcome) {
			return err
		}
		// It cannot be published, and says so: take the Stamp back.
		d.memory = before
		if undo := d.save(); undo != nil {
			return fmt.Errorf("%w: %w; and its stamp could not be taken back: %w", fencing.ErrUnknownOutcome, err, undo)
		}
		b.kept = false
		return err
	}
	return nil
}

// Raise makes the guard refuse every command for the file that is older than t,
// from its return on. What an older owner was publishing is then in the file, or
// will be refused. A t that is known already changes nothing. An older one is
// refused with a *fencing.StaleError, the zero Token with an error matching
// fencing.ErrZeroToken.
func (g *Guard) Raise(ctx context.Context, name string, t fencing.Token) error {
	d, err := g.enter(ctx, name)
	if err != nil {
		return err
	}
	defer d.leave()
	floor, err := fencing.CheckRaise(d.memory.Last, t)
	if err := d.remember(floor); err != nil {
		return err
	}
	return fencing.Named(name, err)
}

// Open returns the published file, open for reading, and the Stamp remembered at
// that moment: that of its last command, or the floor above it. A program that
// needs the content alone opens the file by its name. The error matches
// fs.ErrNotExist if nothing has been published; the Stamp is good then too. The
// caller closes the file. Open takes the lock, so it needs to write to the folder,
// and finishes what a killed process has left: a file opened by its name is until
// then the one before.
func (g *Guard) Open(ctx context.Context, name string) (*os.File, fencing.Stamp, error) {
	d, err := g.enter(ctx, name)
	if err != nil {
		return nil, fencing.Stamp{}, err
	}
	defer d.leave()
	f, err := g.root.Open(name)
	if err != nil {
		return nil, d.memory.Last, fmt.Errorf("filefence: %w", err)
	}
	return f, d.memory.Last, nil
}

// Last returns what is remembered of the file, the zero Stamp if nothing. It takes
// the lock, as Open does.
func (g *Guard) Last(ctx context.Context, name string) (fencing.Stamp, error) {
	d, err := g.enter(ctx, name)
	if err != nil {
		return fencing.Stamp{}, err
	}
	defer d.leave()
	return d.memory.Last, nil
}

// Override puts to in place of the remembered Stamp, larger or smaller, and keeps
// the record in the same step. It is for an ensemble that was rebuilt, with all
// owners stopped: nothing protects against what they still have under way. The
// content stays as it is.
func (g *Guard) Override(ctx context.Context, name string, to fencing.Stamp, who, why string) error {
	o := fencing.Override{Resource: name, To: to, Who: who, Why: why, When: time.Now().UTC()}
	if err := o.Validate(); err != nil {
		return err
	}
	d, err := g.enter(ctx, name)
	if err != nil {
		return err
	}
	defer d.leave()
	o.From = d.memory.Last
	d.memory.Last = to
	d.memory.Overrides = append(d.memory.Overrides, o)
	if err := d.save(); err != nil {
		return fmt.Errorf("filefence: override %q: %w", name, err)
	}
	return nil
}

// Overrides returns the records of all overrides of the file, oldest first.
func (g *Guard) Overrides(ctx context.Context, name string) ([]fencing.Override, error) {
	d, err := g.enter(ctx, name)
	if err != nil {
		return nil, err
	}
	defer d.leave()
	return d.memory.Overrides, nil
}
