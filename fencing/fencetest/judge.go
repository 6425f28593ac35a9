package fencetest

import (
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
)

// Attempt is one try of a command, or a Raise, and what was answered.
type Attempt struct {
	Entry string        // "" for a Raise
	Stamp fencing.Stamp // the command's; of a Raise the Token alone
	Fail  bool          // the command was made to fail
	Err   error         // nil: success
	// Began and Ended are on one clock for all attempts, a counter or time. Ended 0:
	// no answer came, and Err says nothing.
	Began, Ended int64
}

// Judge reads the history of one resource: the entries that its data has, in the
// order in which they were applied, against all attempts to apply them. The error
// names everything that should not be:
//
//   - an entry that nobody sent, or twice, or that was only refused or only failed;
//   - a step backwards: an entry whose Stamp is not larger than the one before;
//   - an entry whose every attempt began after a newer owner had been answered;
//   - a command answered with success, or with ErrDuplicate, that is not there.
//
// Entries are unique to Stamps. With operation IDs, or around an override, Stamps
// do not order entries and Judge is not for them.
func Judge(entries []string, attempts []Attempt) error {
	var wrong []error
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }

	sent := make(map[string][]Attempt)
	for _, a := range attempts {
		if a.Entry != "" {
			sent[a.Entry] = append(sent[a.Entry], a)
		}
	}
	there := make(map[string]bool)
	var before string
	for i, entry := range entries {
		tries := sent[entry]
		switch {
		case there[entry]:
			complain("%s was applied twice", entry)
			continue
		case len(tries) == 0:
			complain("%s was applied and never sent", entry)
			continue
		}
		there[entry] = true
		if i > 0 && len(sent[before]) > 0 && tries[0].Stamp.Compare(sent[before][0].Stamp) <= 0 {
			complain("step backwards: %s with stamp %s was applied after %s with stamp %s", entry, tries[0].Stamp, before, sent[before][0].Stamp)
		}
		before = entry
		judgeTries(entry, tries, attempts, complain)
	}
	for _, a := range attempts {
		if a.Entry == "" || there[a.Entry] || a.Ended == 0 {
			continue
		}
		if a.Err == nil {
			complain("%s was answered with success and is not there", a.Entry)
		} else if errors.Is(a.Err, fencing.ErrDuplicate) {
			complain("%s was answered with %q and is not there", a.Entry, fencing.ErrDuplicate)
		}
	}
	return errors.Join(wrong...)
}

// judgeTries judges an entry that is there by its tries.
func judgeTries(entry string, tries, all []Attempt, complain func(string, ...any)) {
	first, possible := int64(0), false
	for _, a := range tries {
		if mayHaveApplied(a) && (!possible || a.Began < first) {
			first, possible = a.Began, true
		}
	}
	if !possible {
		complain("%s was applied, and each of its tries was refused or failed, the last with %v", entry, tries[len(tries)-1].Err)
		return
	}
	for _, a := range all {
		if a.Stamp.Token.Compare(tries[0].Stamp.Token) > 0 && wasSeen(a) && a.Ended < first {
			complain("%s was applied though it was sent after %s had been answered", entry, a.Stamp)
			return
		}
	}
}

// mayHaveApplied reports whether this try can be the one by which its entry came
// to be there. Any other error than a refusal leaves that open.
func mayHaveApplied(a Attempt) bool {
	if a.Ended == 0 || a.Err == nil || errors.Is(a.Err, fencing.ErrUnknownOutcome) {
		return true
	}
	return !a.Fail && !isRefusal(a.Err)
}

// wasSeen reports whether the answer proves that the guard had looked at the Stamp.
func wasSeen(a Attempt) bool {
	if a.Ended == 0 || errors.Is(a.Err, fencing.ErrZeroToken) || errors.Is(a.Err, fencing.ErrZeroSeq) {
		return false
	}
	return a.Err == nil || isRefusal(a.Err)
}

func isRefusal(err error) bool { return kind(err) != nil }

// kind is the sentinel of package fencing that a refusal matches, nil for other
// errors.
func kind(err error) error {
	for _, sentinel := range refusals() {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return nil
}

func refusals() []error {
	return []error{fencing.ErrStale, fencing.ErrDuplicate, fencing.ErrSuperseded, fencing.ErrZeroToken, fencing.ErrZeroSeq}
}
