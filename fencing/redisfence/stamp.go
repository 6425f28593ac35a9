package redisfence

import (
	"fmt"
	"strconv"

	"github.com/zkfence/zkfence/fencing"
)

// As texts of one width, digits are in the order of their numbers, in any locale.

func tokenText(t fencing.Token) string { return fmt.Sprintf("%019d", t.Uint64()) }

func seqText(seq uint64) string { return fmt.Sprintf("%020d", seq) }

func parseStamp(token, seq string) (s fencing.Stamp, err error) {
	n, err := strconv.ParseUint(token, 10, 63)
	if err != nil || len(token) != 19 {
		return s, fmt.Errorf("redisfence: stored token %.40q, want 19 digits", token)
	}
	if n > 0 {
		if s.Token, err = fencing.FromUint64(n); err != nil {
			return s, err
		}
	}
	if s.Seq, err = strconv.ParseUint(seq, 10, 64); err != nil || len(seq) != 20 {
		return fencing.Stamp{}, fmt.Errorf("redisfence: stored seq %.40q, want 20 digits", seq)
	}
	return s, nil
}
