package bubble

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// seedVar is the environment variable that overrides the seed of every bubble.
const seedVar = "BUBBLE_SEED"

// overridden returns the seed to use.
func overridden(seed uint64) (uint64, error) {
	s, ok := os.LookupEnv(seedVar)
	if !ok {
		return seed, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q: not a seed: %w", seedVar, s, err)
	}
	return n, nil
}

// again says how to run a test once more with a seed, in the directory of its package.
func again(name string, seed uint64) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return fmt.Sprintf("%s=%d go test -count=1 -run '%s' .", seedVar, seed, strings.ReplaceAll(strings.Join(parts, "/"), "'", `'\''`))
}

// report is what a test that has failed prints.
func (b *B) report(tail int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "bubble: seed %d; to run it again: %s\nthe end of the trace:\n", b.Seed, again(b.T.Name(), b.Seed))
	if b.Ensemble != nil {
		out.WriteString(b.Ensemble.Trace(tail))
	} else {
		out.WriteString(b.Server.Trace(tail))
	}
	return out.String()
}
