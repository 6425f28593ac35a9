package door

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// scene is a door with a clock of the test's.
type scene struct {
	*testing.T
	*Door
	path string
	time time.Time
	runs int
}

const settle = 30 * time.Second

func newScene(t *testing.T) *scene {
	s := &scene{T: t, path: filepath.Join(t.TempDir(), "door"), time: time.Unix(1e9, 0)}
	s.reopen()
	t.Cleanup(func() { require.NoError(t, s.Door.Close()) })
	return s
}

func (s *scene) reopen() {
	s.Helper()
	if s.Door != nil {
		require.NoError(s, s.Door.Close())
	}
	var err error
	s.Door, err = Open(s.path, Options{Settle: settle})
	require.NoError(s, err)
	s.now = func() time.Time { return s.time }
	for _, r := range s.rooms { // Open has looked at the real clock
		r.settled = s.time.Add(settle)
	}
}

func at(t *testing.T, token, seq uint64) fencing.Stamp {
	t.Helper()
	tok, err := fencing.FromUint64(token)
	require.NoError(t, err)
	return fencing.Stamp{Token: tok, Seq: seq}
}

func (s *scene) do(c Command, answer error) (Answer, error) {
	c.Resource = "r"
	return s.Do(s.Context(), c, func(context.Context) ([]byte, error) { s.runs++; return []byte(c.Stamp.String()), answer })
}

func (s *scene) ran(n int) {
	s.Helper()
	require.Equal(s, n, s.runs)
	s.runs = 0
}

var errLost = fencing.ErrUnknownOutcome

// What was let through after a lost answer could be overtaken by the lost command.
func TestNothingPassesWhileALostCommandCanLand(t *testing.T) {
	s := newScene(t)
	_, err := s.do(Command{Stamp: at(t, 10, 1), Repeatable: true}, errLost)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	s.ran(1)
	for _, restarted := range []bool{false, true} {
		if restarted {
			s.reopen()
		}
		s.time = s.time.Add(settle - time.Second)
		commands := []Command{{Stamp: at(t, 10, 1), Repeatable: true}, {Stamp: at(t, 10, 2)}, {Stamp: at(t, 20, 1)}}
		if restarted {
			commands = commands[2:] // the floor has risen
		}
		for _, c := range commands {
			_, err = s.do(c, nil)
			var unsettled *UnsettledError
			require.ErrorAs(t, err, &unsettled, "%s", c.Stamp)
			require.Equal(t, at(t, 10, 1), unsettled.Lost)
			require.Equal(t, "r", unsettled.Resource)
			require.InDelta(t, time.Second, unsettled.Wait, float64(2*time.Millisecond))
		}
		err = s.Raise(t.Context(), "r", at(t, 20, 0).Token)
		var unsettled *UnsettledError
		require.ErrorAs(t, err, &unsettled)
		require.Equal(t, at(t, 20, 0), s.Last("r"), "raised on sight all the same")
		_, err = s.do(Command{Stamp: at(t, 10, 3)}, nil)
		require.ErrorIs(t, err, fencing.ErrStale, "a refusal needs no wait")
		s.ran(0)
	}
	s.time = s.time.Add(time.Second)
	require.NoError(t, s.Raise(t.Context(), "r", at(t, 20, 0).Token))
	_, err = s.do(Command{Stamp: at(t, 20, 1)}, nil)
	require.NoError(t, err)
	_, err = s.do(Command{Stamp: at(t, 20, 2)}, nil)
	require.NoError(t, err, "settled for good")
	s.ran(2)
}

func TestALostCommandRunsAgainOnlyIfThatIsTheSameAsOnce(t *testing.T) {
	for _, how := range []string{"Lost", "Panic", "Crash"} {
		t.Run(how, func(t *testing.T) {
			s := newScene(t)
			lose := func(c Command) {
				c.Resource = "r"
				before := s.runs
				switch how {
				case "Lost":
					_, err := s.do(c, errLost)
					require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
				case "Panic":
					require.Panics(t, func() { _, _ = s.Do(t.Context(), c, func(context.Context) ([]byte, error) { panic("in the handler") }) })
					var unsettled *UnsettledError
					require.ErrorAs(t, s.Raise(t.Context(), "r", c.Stamp.Token), &unsettled)
					require.Greater(t, unsettled.Wait, settle-time.Second)
				case "Crash": // after the intent was written
					r, leave, err := s.enter(t.Context(), "r")
					require.NoError(t, err)
					floor, err := fencing.Check(r.last, c.Stamp)
					require.NoError(t, err)
					require.NoError(t, s.remember(r, entry{Resource: "r", Last: floor, Pending: &pending{c.Stamp, c.OpID}}))
					leave()
					s.reopen()
				}
				s.runs = before
				s.time = s.time.Add(settle)
			}
			once, repeatable := Command{Stamp: at(t, 10, 1)}, Command{Stamp: at(t, 10, 2), Repeatable: true}
			lose(once)
			for range 3 {
				_, err := s.do(once, nil)
				require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
				require.ErrorContains(t, err, "0xa:1")
			}
			s.ran(0)
			lose(repeatable)
			_, err := s.do(once, nil)
			require.NotErrorIs(t, err, fencing.ErrDuplicate)
			answer, err := s.do(repeatable, nil)
			require.NoError(t, err)
			require.Equal(t, Answer{Outcome: []byte("0xa:2")}, answer)
			answer, err = s.do(repeatable, nil)
			require.ErrorIs(t, err, fencing.ErrDuplicate)
			require.Equal(t, Answer{Outcome: []byte("0xa:2"), Recorded: true}, answer)
			_, err = s.do(once, nil)
			require.ErrorIs(t, err, fencing.ErrSuperseded)
		})
	}
}

// Its first try may have been applied: that a later one was refused by the resource
// does not undo it.
func TestAFailureAfterALostAnswerIsNoFailure(t *testing.T) {
	s := newScene(t)
	c := Command{Stamp: at(t, 10, 1), OpID: "pay-1", Repeatable: true}
	_, err := s.do(c, errLost)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	s.time = s.time.Add(settle)
	errRefused := errors.New("refused by the resource")
	_, err = s.do(c, errRefused)
	require.ErrorIs(t, err, errRefused)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	c.Repeatable = false
	_, err = s.do(c, nil)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	s.ran(2)
}

// The next owner that repeats the last one's operation would do it twice.
func TestALostOperationIsUnknownUnderAnyToken(t *testing.T) {
	s := newScene(t)
	_, err := s.do(Command{Stamp: at(t, 10, 1), OpID: "pay-1"}, errLost)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	s.time = s.time.Add(settle)
	_, err = s.do(Command{Stamp: at(t, 20, 1), OpID: "pay-2"}, nil)
	require.NoError(t, err)
	s.ran(2)
	s.reopen()
	_, err = s.do(Command{Stamp: at(t, 30, 1), OpID: "pay-1"}, nil)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorContains(t, err, "pay-1")
	require.Equal(t, at(t, 30, 0), s.Last("r"))
	s.ran(0)
	// Repeatable or not: pay-2 has been applied since, and would be undone.
	_, err = s.do(Command{Stamp: at(t, 30, 1), OpID: "pay-1", Repeatable: true}, nil)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	s.ran(0)
}

// It is the same as once where nothing has come between, whoever repeats it.
func TestALostOperationThatIsRepeatableRunsAgainRightAfterItself(t *testing.T) {
	s := newScene(t)
	for n := range uint64(3) {
		_, err := s.do(Command{Stamp: at(t, 10+n, 1), OpID: "set-1", Repeatable: true}, errLost)
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		s.ran(1)
		s.time = s.time.Add(settle)
	}
	s.reopen()
	s.time = s.time.Add(settle)
	answer, err := s.do(Command{Stamp: at(t, 30, 1), OpID: "set-1", Repeatable: true}, nil)
	require.NoError(t, err)
	require.Equal(t, Answer{Outcome: []byte("0x1e:1")}, answer)
	s.ran(1)
	answer, err = s.do(Command{Stamp: at(t, 40, 1), OpID: "set-1", Repeatable: true}, nil)
	require.NoError(t, err)
	require.True(t, answer.Recorded)
	s.ran(0)

	// One of no ID, and one that fails, stand between as well.
	for _, between := range []error{errLost, errors.New("it failed")} {
		op := fmt.Sprint("set after ", between)
		last := s.Last("r").Token.Uint64()
		_, err = s.do(Command{Stamp: at(t, last+1, 1), OpID: op, Repeatable: true}, errLost)
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		s.time = s.time.Add(settle)
		_, err = s.do(Command{Stamp: at(t, last+2, 1)}, between)
		require.Error(t, err)
		s.time = s.time.Add(settle)
		s.ran(2)
		_, err = s.do(Command{Stamp: at(t, last+3, 1), OpID: op, Repeatable: true}, nil)
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome, "%v", between)
		s.ran(0)
	}
}

// Case 27: the ensemble was rebuilt while the answer to a command was lost.
func TestAnOverrideSettlesWhatWasLost(t *testing.T) {
	s := newScene(t)
	_, err := s.do(Command{Stamp: at(t, 10, 1)}, errLost)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.NoError(t, s.Override(t.Context(), "r", fencing.Stamp{}, "Ada", "rebuilt"))
	_, err = s.do(Command{Stamp: at(t, 2, 1)}, nil)
	require.NoError(t, err)

	// What it was set to counts as applied, and nobody knows its answer.
	require.NoError(t, s.Override(t.Context(), "r", at(t, 2, 5), "Ada", "again"))
	answer, err := s.do(Command{Stamp: at(t, 2, 5)}, nil)
	require.ErrorIs(t, err, fencing.ErrDuplicate)
	require.Equal(t, Answer{Recorded: true}, answer)
}

func TestOutcomesAndOperationsAreBounded(t *testing.T) {
	s := newScene(t)
	s.options.MaxOutcome, s.options.MaxOps = 5, 2
	answer, err := s.do(Command{Stamp: at(t, 16, 1), OpID: "a"}, nil)
	require.NoError(t, err)
	require.Equal(t, "0x10:1", string(answer.Outcome), "six bytes: told once, not recorded")
	answer, err = s.do(Command{Stamp: at(t, 16, 1)}, nil)
	require.ErrorIs(t, err, fencing.ErrDuplicate)
	require.Equal(t, Answer{Recorded: true}, answer)
	answer, err = s.do(Command{Stamp: at(t, 16, 2), OpID: "a"}, nil)
	require.NoError(t, err)
	require.Equal(t, Answer{Recorded: true}, answer)
	for i, id := range []string{"b", "c"} {
		_, err = s.do(Command{Stamp: at(t, 16, uint64(i)+3), OpID: id}, nil)
		require.NoError(t, err)
	}
	s.ran(3)
	_, err = s.do(Command{Stamp: at(t, 16, 9), OpID: "a"}, nil)
	require.NoError(t, err)
	s.ran(1)
}

// A later command that failed used to wipe the lost one before it from the memory: the
// payment {7,1} is lost and may have been made; {7,2} is refused by the resource; then
// {7,1} ran a second time and was told to be well. Whoever sends it again breaks the
// rule for retries, and must not be told nil for it all the same (case 45).
func TestALostCommandIsNotForgottenByALaterOne(t *testing.T) {
	errRefused := errors.New("refused by the resource")
	for name, later := range map[string]func(*scene) error{
		"Failed": func(s *scene) error {
			_, err := s.do(Command{Stamp: at(t, 7, 3), OpID: "later"}, errRefused)
			require.ErrorIs(t, err, errRefused)
			return nil
		},
		"Lost": func(s *scene) error {
			_, err := s.do(Command{Stamp: at(t, 7, 3)}, errLost)
			s.time = s.time.Add(settle)
			return err
		},
		"LostThenFailed": func(s *scene) error {
			_, err := s.do(Command{Stamp: at(t, 7, 3)}, errLost)
			s.time = s.time.Add(settle)
			_, failed := s.do(Command{Stamp: at(t, 7, 4)}, errRefused)
			require.ErrorIs(t, failed, errRefused)
			return err
		},
	} {
		for _, repeatable := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "Repeatable"}[repeatable], func(t *testing.T) {
				s := newScene(t)
				lost := Command{Stamp: at(t, 7, 2), Repeatable: repeatable}
				_, err := s.do(lost, errLost)
				require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
				s.time = s.time.Add(settle)
				_, err = s.do(Command{Stamp: at(t, 7, 1), Repeatable: repeatable}, nil)
				require.ErrorIs(t, err, fencing.ErrUnknownOutcome, "it would land behind what 2 may have written")
				s.ran(1)
				if err := later(s); err != nil {
					require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
				}
				s.runs = 0
				for _, then := range []func(){func() {}, s.reopen, s.writeAnew} {
					then()
					s.time = s.time.Add(settle)
					for _, seq := range []uint64{2, 1} {
						_, err = s.do(Command{Stamp: at(t, 7, seq), Repeatable: repeatable}, nil)
						require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
						require.NotErrorIs(t, err, fencing.ErrStale)
					}
					s.ran(0)
				}
				_, err = s.do(Command{Stamp: at(t, 7, 5)}, nil)
				require.NoError(t, err)
				_, err = s.do(lost, nil)
				require.ErrorIs(t, err, fencing.ErrSuperseded)
				s.ran(1)
			})
		}
	}
}

// writeAnew has the file say what is remembered, and no more, and opens it.
func (s *scene) writeAnew() {
	s.Helper()
	require.NoError(s, s.journal.replace(s.entries()))
	s.reopen()
}

// The function has asked another guard under the same Stamp, which does not know: its
// refusal of the second try is not this door's of the command.
func TestAnUnknownOutcomeWithARefusalInItIsUnknown(t *testing.T) {
	s := newScene(t)
	for seq, highest := range []fencing.Stamp{at(t, 10, 1), at(t, 10, 9), at(t, 11, 0)} {
		st := at(t, 10, uint64(seq+1))
		_, err := s.do(Command{Stamp: st}, fmt.Errorf("%w: %w", fencing.ErrUnknownOutcome, &fencing.StaleError{Resource: "further", Presented: st, Highest: highest}))
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.ErrorContains(t, err, `resource "r": command `+st.String())
		s.time = s.time.Add(settle)
	}
}

// Somebody else's refusal has ended the context in which the command waits for its turn.
func TestTheEndOfAContextIsNoRefusal(t *testing.T) {
	s := newScene(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&fencing.StaleError{Resource: "another", Presented: at(t, 10, 1), Highest: at(t, 10, 1)})
	_, err := s.Do(ctx, Command{Resource: "r", Stamp: at(t, 10, 1)}, func(context.Context) ([]byte, error) { panic("it ran") })
	require.NotErrorIs(t, err, fencing.ErrDuplicate)
	require.ErrorContains(t, err, `resource "r"`)
	require.ErrorContains(t, err, `"another"`)
}
