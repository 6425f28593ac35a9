package fencetest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

func stampOf(t testing.TB, text string) fencing.Stamp {
	t.Helper()
	s, err := fencing.ParseStamp(text)
	require.NoError(t, err)
	return s
}

func TestJudge(t *testing.T) {
	refusal := func(presented, highest string) error {
		return &fencing.StaleError{Presented: stampOf(t, presented), Highest: stampOf(t, highest)}
	}
	try := func(stamp string, began, ended int64, err error) fencetest.Attempt {
		return fencetest.Attempt{Entry: stamp, Stamp: stampOf(t, stamp), Began: began, Ended: ended, Err: err}
	}
	failing := func(stamp string, began, ended int64, err error) fencetest.Attempt {
		a := try(stamp, began, ended, err)
		a.Fail = true
		return a
	}
	raise := func(token string, began, ended int64) fencetest.Attempt {
		return fencetest.Attempt{Stamp: stampOf(t, token+":0"), Began: began, Ended: ended}
	}
	errBroken := errors.New("broken pipe")

	for _, c := range []struct {
		name     string
		entries  []string
		attempts []fencetest.Attempt
		want     string // in the error; empty: none
	}{
		{"Nothing", nil, nil, ""},
		{"InOrder", []string{"0x1:1", "0x2:1"}, []fencetest.Attempt{try("0x1:1", 1, 2, nil), try("0x2:1", 3, 4, nil)}, ""},
		{"StepBackByToken", []string{"0x2:1", "0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 4, nil), try("0x2:1", 2, 3, nil)}, "step backwards: 0x1:1"},
		{"StepBackBySeq", []string{"0x1:2", "0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 4, nil), try("0x1:2", 2, 3, nil)}, "step backwards: 0x1:1"},
		{"Twice", []string{"0x1:1", "0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 2, nil), try("0x1:1", 3, 4, nil)}, "applied twice"},
		{"FromNowhere", []string{"0x1:1"}, nil, "never sent"},
		{"SuccessThatIsNotThere", nil, []fencetest.Attempt{try("0x1:1", 1, 2, nil)}, "success and is not there"},
		{"DuplicateThatIsNotThere", nil, []fencetest.Attempt{try("0x1:1", 1, 2, refusal("0x1:1", "0x1:1"))}, "duplicate command\" and is not there"},
		{"DuplicateThatIsThere", []string{"0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 2, fencing.ErrUnknownOutcome), try("0x1:1", 3, 4, refusal("0x1:1", "0x1:1"))}, ""},
		{"RefusedAndApplied", []string{"0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 2, refusal("0x1:1", "0x2:0"))}, "refused or failed"},
		{"FailedAndApplied", []string{"0x1:1"}, []fencetest.Attempt{failing("0x1:1", 1, 2, errBroken)}, "refused or failed"},
		{"FailedWithAnUnknownOutcome", []string{"0x1:1"}, []fencetest.Attempt{failing("0x1:1", 1, 2, fencing.ErrUnknownOutcome)}, ""},
		{"ErrorOfTheGuardAndApplied", []string{"0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 2, errBroken)}, ""},
		{"ErrorOfTheGuardAndNotApplied", nil, []fencetest.Attempt{try("0x1:1", 1, 2, errBroken)}, ""},
		{"NoAnswerAndApplied", []string{"0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 0, nil)}, ""},
		{"NoAnswerAndNotApplied", nil, []fencetest.Attempt{try("0x1:1", 1, 0, nil)}, ""},
		{"AppliedThoughSentAfterANewerOne", []string{"0x1:1"}, []fencetest.Attempt{failing("0x2:1", 1, 2, refusal("0x2:1", "0x2:1")), failing("0x2:1", 1, 2, nil), try("0x1:1", 3, 4, nil)}, "sent after 0x2:1 had been answered"},
		{"AppliedThoughSentAfterARaise", []string{"0x1:1"}, []fencetest.Attempt{raise("0x2", 1, 2), try("0x1:1", 3, 4, nil)}, "sent after 0x2:0 had been answered"},
		{"AppliedBesideARaise", []string{"0x1:1"}, []fencetest.Attempt{raise("0x2", 1, 3), try("0x1:1", 2, 4, nil)}, ""},
		{"AppliedByAnEarlierTry", []string{"0x1:1"}, []fencetest.Attempt{try("0x1:1", 1, 2, errBroken), raise("0x2", 3, 4), try("0x1:1", 5, 6, refusal("0x1:1", "0x2:0"))}, ""},
		{"ANewerOneThatGotNoAnswerProvesNothing", []string{"0x1:1"}, []fencetest.Attempt{try("0x2:1", 1, 0, nil), try("0x2:1", 1, 2, errBroken), try("0x1:1", 3, 4, nil)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := fencetest.Judge(c.entries, c.attempts)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
