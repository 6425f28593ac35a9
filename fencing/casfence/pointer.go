package casfence

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/pause"
)

const (
	// format is of the pointer's record. Another one is refused: what it leaves out
	// must not be taken for nothing.
	format = 1
	// kept is how many writes a pointer remembers.
	kept = 64
	// rounds bounds how often a write is judged and sent anew.
	rounds = 40
)

// record is the value of a pointer.
type record struct {
	Format    int                `json:"format"`
	Resource  string             `json:"resource"`
	Last      fencing.Stamp      `json:"last"`
	Object    string             `json:"object,omitempty"` // key of the content; none while nothing is published
	Writes    []string           `json:"writes"`           // IDs of the newest writes, the newest last
	Overrides []fencing.Override `json:"overrides,omitempty"`
	Swept     string             `json:"swept,omitempty"` // the last Sweep

	touch bool // write it though it says the same
}

// pointer is a record as it was read.
type pointer struct {
	record
	version string
}

// segment is a name as one part of a key: printable, without separators, never "."
// or "..", and short enough for stores that bound keys to 1024 bytes.
func segment(name string) string {
	if s := url.PathEscape(name); len(s) <= 512 {
		return "n-" + s
	}
	sum := sha256.Sum256([]byte(name))
	return "h-" + hex.EncodeToString(sum[:])
}

func (g *Guard) pointerKey(name string) string { return "pointers/" + segment(name) }

// objectKey is unique to the attempt.
func (g *Guard) objectKey(name string, s fencing.Stamp) string {
	return "objects/" + segment(name) + "/" + s.String() + "-" + rand.Text()
}

func (g *Guard) load(ctx context.Context, name string) (pointer, error) {
	key := g.pointerKey(name)
	value, version, err := g.store.Get(ctx, key)
	if err != nil {
		return pointer{}, fmt.Errorf("casfence: read the pointer of %q: %w", name, err)
	}
	p := pointer{record: record{Format: format, Resource: name}, version: version}
	if version == "" {
		return p, nil
	}
	p.record = record{}
	if err = json.Unmarshal(value, &p.record); err == nil && (p.Format != format || p.Resource != name || len(p.Writes) == 0) {
		err = fmt.Errorf("it has the format %d and is of %q", p.Format, p.Resource)
	}
	if err != nil {
		// To begin anew would let the oldest owner in.
		return pointer{}, fmt.Errorf("casfence: the pointer of %q cannot be read, nothing is let in until it can: %s: %w", name, key, err)
	}
	return p, nil
}

// update moves the pointer. change is given what is there and returns what shall
// be, and what update is to return once that is written; with what is there
// returned unchanged, and without touch, nothing is written. It runs again whenever the pointer has
// moved. seen is a pointer read before, or nil.
func (g *Guard) update(ctx context.Context, name string, seen *pointer, change func(record) (record, error)) (pointer, error) {
	id := rand.Text()
	for range rounds {
		if seen == nil {
			p, err := g.load(ctx, name)
			if err != nil {
				return pointer{}, err
			}
			seen = &p
		}
		next, result := change(seen.record)
		if unchanged(next, seen.record) {
			return *seen, result
		}
		next.touch = false
		next.Writes = append(slices.Clone(seen.Writes[max(0, len(seen.Writes)-kept+1):]), id)
		now, applied, err := g.move(ctx, name, *seen, next, id)
		if err != nil {
			return pointer{}, err
		}
		if applied {
			return now, result
		}
		seen = &now
	}
	return pointer{}, fmt.Errorf("casfence: the pointer of %q moved %d times meanwhile, nothing was applied: try again", name, rounds)
}

func unchanged(a, b record) bool {
	return !a.touch && a.Last == b.Last && a.Object == b.Object && a.Swept == b.Swept && len(a.Overrides) == len(b.Overrides)
}

// move sends one compare-and-set and finds out what has become of it. Not applied
// means that it never will be; now is then what is there instead.
func (g *Guard) move(ctx context.Context, name string, from pointer, next record, id string) (now pointer, applied bool, err error) {
	value, err := json.Marshal(next)
	if err != nil {
		return pointer{}, false, err
	}
	unknown := func(err error) error {
		return fmt.Errorf("%w: casfence: move the pointer of %q: %w", fencing.ErrUnknownOutcome, name, err)
	}
	var last error
	for try := range rounds {
		version, sent := g.store.Put(ctx, g.pointerKey(name), value, from.version)
		if sent == nil {
			return pointer{next, version}, true, nil
		}
		last = sent
		// Later ones say nothing of the first. And of one whose context has ended the error
		// can have its cause in it, which is ErrNotWritten of another request.
		if try == 0 && errors.Is(sent, ErrNotWritten) && ctx.Err() == nil {
			return pointer{}, false, fmt.Errorf("casfence: move the pointer of %q: %w", name, sent)
		}
		if !errors.Is(sent, ErrConflict) && ctx.Err() != nil {
			return pointer{}, false, unknown(sent)
		}
		// Also after a conflict: the one that conflicted may be a repetition, by this
		// loop or by the transport, of one that was applied.
		now, err := g.look(ctx, name)
		switch {
		case err != nil:
			return pointer{}, false, unknown(errors.Join(sent, err))
		case slices.Contains(now.Writes, id):
			return now, true, nil
		case now.version == from.version:
			// It may be under way: the same again, so that one of both is the last word.
			if err := letOthers(ctx); err != nil {
				return pointer{}, false, unknown(errors.Join(sent, err))
			}
			continue
		case from.version != "" && !slices.Contains(now.Writes, from.Writes[len(from.Writes)-1]),
			from.version == "" && len(now.Writes) >= kept:
			return pointer{}, false, unknown(fmt.Errorf("%w, and %d others came after it", sent, kept))
		}
		return now, false, letOthers(ctx)
	}
	return pointer{}, false, unknown(fmt.Errorf("%d tries, the last: %w", rounds, last))
}

// look is load by somebody who needs to know.
func (g *Guard) look(ctx context.Context, name string) (p pointer, err error) {
	for range 5 {
		if p, err = g.load(ctx, name); err == nil || letOthers(ctx) != nil {
			break
		}
	}
	return p, err
}

// letOthers lets others finish.
func letOthers(ctx context.Context) error {
	return pause.For(ctx, mathrand.N(3*time.Millisecond))
}
