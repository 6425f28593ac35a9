package zktest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// shrink looks for the shortest and simplest script that still fails: it leaves
// out steps in ever smaller chunks, then simplifies what the rest says. failing
// tells at which step, from 1, a script first fails, 0 if it does not; it is
// asked at most budget times.
func shrink(script []step, failing func([]step) int, budget int) []step {
	best := script
	try := func(candidate []step) bool {
		if budget <= 0 || len(candidate) == 0 {
			return false
		}
		budget--
		at := failing(candidate)
		if at == 0 {
			return false
		}
		best = candidate[:min(at, len(candidate))] // what comes after needs no try
		return true
	}
	if !try(script) {
		return script
	}
	for shorter := true; shorter && budget > 0; {
		shorter = false
		for size := (len(best) + 1) / 2; size > 0; size /= 2 {
			for from := len(best) - size; from > -size; from -= size {
				if from < len(best) && try(slices.Delete(slices.Clone(best), max(0, from), min(from+size, len(best)))) {
					shorter = true
				}
			}
		}
		for i := 0; i < len(best); i++ {
			for _, s := range simpler(best[i]) {
				candidate := slices.Clone(best)
				candidate[i] = s
				if cost(s) < cost(best[i]) && try(candidate) {
					shorter = true
					i--
					break
				}
			}
		}
	}
	return best
}

// cost is what a simplification must lower, so that there is an end of it.
func cost(s step) int { return len(s.String())*maxLinks + s.On }

// simpler returns a step with less in it, in one respect each.
func simpler(s step) []step {
	var out []step
	if s.Open != nil {
		out = append(out, step{On: s.On, Open: &opening{Of: s.Open.Of, Timeout: 30_000}}, step{On: s.On, Open: &opening{Timeout: 30_000}})
	}
	if len(s.Ask) > 1 {
		for i := range s.Ask {
			out = append(out, step{On: s.On, Ask: slices.Delete(slices.Clone(s.Ask), i, i+1)})
		}
	}
	for i := range s.Ask {
		for _, r := range simplerRequests(s.Ask[i]) {
			ask := slices.Clone(s.Ask)
			ask[i] = r
			out = append(out, step{On: s.On, Ask: ask})
		}
	}
	if s.On > 1 {
		s.On = 1
		out = append(out, s)
	}
	return out
}

func simplerRequests(r request) []request {
	var out []request
	for i := range r.Subs {
		less := r
		less.Subs = slices.Delete(slices.Clone(r.Subs), i, i+1)
		out = append(out, less)
	}
	for i := range r.Subs {
		for _, sub := range simplerRequests(r.Subs[i]) {
			less := r
			less.Subs = slices.Clone(r.Subs)
			less.Subs[i] = sub
			out = append(out, less)
		}
	}
	for i, list := range r.Paths {
		for k := range list {
			less := r
			less.Paths[i] = slices.Delete(slices.Clone(list), k, k+1)
			out = append(out, less)
		}
	}
	for _, change := range []func(*request){
		func(r *request) { r.Cut = 0 },
		func(r *request) { r.Xid = 0 },
		func(r *request) { r.Data, r.Null, r.Size = "", false, 0 },
		func(r *request) { r.ACL = "" },
		func(r *request) { r.Watch = false },
		func(r *request) { r.Flags = 0 },
		func(r *request) { r.Version = 0 },
		func(r *request) { r.Version = -1 },
		func(r *request) { r.Mode = 0 },
		func(r *request) { r.Back = 0 },
		func(r *request) { r.Path = "~" },
		func(r *request) { r.Path = "~/a" },
	} {
		less := r
		change(&less)
		out = append(out, less)
	}
	return out
}

// A server that forgets the data of a znode which was deleted while somebody
// watched it and created anew: the shortest script that shows it is known.
func TestShrinkFindsTheShortestScript(t *testing.T) {
	broken := func(script []step) int {
		watched, deleted, created := false, false, false
		for i, s := range script {
			for _, r := range s.Ask {
				switch op := wire.Op(r.Op); {
				case r.Path != "~/a" || r.Cut != 0:
				case op == wire.OpGetData && r.Watch:
					watched = true
				case op == wire.OpDelete:
					deleted, created = watched, false
				case op == wire.OpCreate && r.Data != "":
					created = deleted
				case op == wire.OpGetData && created:
					return i + 1
				}
			}
		}
		return 0
	}
	found := 0
	for seed := range uint64(30) {
		script := generate(seed, 250)
		if broken(script) == 0 {
			continue
		}
		found++
		var lines []string
		for _, s := range shrink(script, broken, 2000) {
			require.Len(t, s.Ask, 1)
			require.Equal(t, 1, s.On)
			lines = append(lines, wire.Op(s.Ask[0].Op).String())
			require.Zero(t, s.Ask[0].ACL)
		}
		require.Equal(t, []string{"getData", "delete", "create", "getData"}, lines, "seed %d", seed)
	}
	require.Positive(t, found)
}

func TestShrinkKeepsToItsBudget(t *testing.T) {
	asked := 0
	script := generate(1, 250)
	shrink(script, func(s []step) int { asked++; return len(s) }, 40)
	require.LessOrEqual(t, asked, 40)
	require.Equal(t, script, shrink(script, func([]step) int { return 0 }, 40), "one that does not fail stays as it is")
}

// A script that was printed is the script that was played.
func TestStepsSurvivePrinting(t *testing.T) {
	for seed := range uint64(20) {
		for _, s := range generate(seed, 250) {
			back, err := parseStep(s.String())
			require.NoError(t, err)
			require.Equal(t, s, back)
		}
	}
}
