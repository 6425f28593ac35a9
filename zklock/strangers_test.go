package zklock_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

const aGUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// strangers have stood in somebody's lock directory, and made a library panic,
// leave its own node behind, or wait for one that never goes.
var strangers = []string{
	"config", "nested", "_c_x", "_c_", "lock-", "lock--1", "lock-٠١٢٣٤٥٦٧٨٩", "_c_" + aGUID + "-lock-", strings.Repeat("n", 5000),
}

// notes counts what a Trace says was ignored.
type notes struct {
	mu    sync.Mutex
	count map[string]int
}

func (n *notes) option() zklock.Option {
	n.count = make(map[string]int)
	return zklock.WithTrace(&zklock.Trace{Ignored: func(_ zklock.Attempt, child string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.count[child]++
	}})
}

func (n *notes) times(child string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count[child]
}

// Strangers are in the directory, and the create of the contender is answered, or
// is not, or never arrives: then it is searched for among them. They are reported
// once each, by holder and waiter alike, and nothing else comes of them.
func TestStrangersAreIgnoredWhateverBecomesOfTheCreate(t *testing.T) {
	for claim, fault := range map[string]func(of *zktest.Target){
		"ItIsAnswered":          func(*zktest.Target) {},
		"ItNeverArrives":        func(of *zktest.Target) { of.DropRequest(zktest.OpCreate, 1) },
		"ItNeverArrivesThrice":  func(of *zktest.Target) { of.DropRequest(zktest.OpCreate, 3) },
		"ItsAnswerIsLost":       func(of *zktest.Target) { of.DropReply(zktest.OpCreate, 1) },
		"ItsAnswerAndTheSearch": func(of *zktest.Target) { of.DropReply(zktest.OpCreate, 1); of.DropReply(zktest.OpGetChildren2, 2) },
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				for _, name := range strangers {
					require.NoError(s.T, s.Operator.Create(s.Path+"/"+name, nil))
				}
				// Another lock's directory, and a contender by its name, but the last.
				require.NoError(s.T, s.Operator.Create(s.Path+"/nested/_c_"+aGUID+"-lock-0000000000", nil))
				require.NoError(s.T, s.Operator.Create(s.Path+"/lock-99999999999", nil))
				before := s.Nodes()
				slices.Sort(before)

				a, b := s.Dial("a"), s.Dial("b")
				var seen [2]notes
				fault(s.Of(a))
				h := s.lock(s.mutex(a, seen[0].option()), 2*s.Timeout)
				fault(s.Of(b))
				next := s.locking(s.Ctx, s.mutex(b, seen[1].option()))
				s.Eventually(s.Timeout, func() bool { return seen[1].times("config") > 0 }, "the waiter's first look")
				require.False(s.T, next.returned())
				require.NoError(s.T, h.Unlock(s.Ctx))
				got := s.granted(next, s.Timeout)
				require.Positive(s.T, got.Token().Compare(h.Token()))
				require.NoError(s.T, got.Unlock(s.Ctx))

				s.Eventually(s.Timeout, func() bool {
					after := s.Nodes()
					slices.Sort(after)
					return slices.Equal(before, after)
				}, "a directory without a node of ours")
				for i := range seen {
					for _, name := range strangers {
						require.Equal(s.T, 1, seen[i].times(name), "%q to %d", name, i)
					}
					require.Zero(s.T, seen[i].times("lock-99999999999"), "it is a contender by its name")
				}
			})
		})
	}
}

// A node that nobody owns but that stands in line is waited for: whoever made it
// may count on it. Only an operator can remove it.
func TestAStrangerInLineIsWaitedFor(t *testing.T) {
	everywhere(t, func(s *scene) {
		stranger := "_c_" + aGUID + "-lock-0000000000"
		require.NoError(s.T, s.Operator.Create(s.Path+"/"+stranger, nil))
		a := s.Dial("a")
		behind := make(chan string, 10)
		m := s.mutex(a, zklock.WithTrace(&zklock.Trace{Waiting: func(_ zklock.Attempt, predecessor string, _ int) { behind <- predecessor }}))
		_, err := m.TryLock(s.Ctx)
		require.ErrorIs(s.T, err, zklock.ErrLocked)
		next := s.locking(s.Ctx, m)
		require.Equal(s.T, stranger, <-behind)
		line, err := m.Queue(s.Ctx)
		require.NoError(s.T, err)
		require.Len(s.T, line, 2)
		require.Equal(s.T, stranger, line[0].Node)
		require.Zero(s.T, line[0].Session, "nobody's session takes it away")
		s.Pass(2 * s.Timeout)
		require.False(s.T, next.returned())
		require.NoError(s.T, s.Operator.Delete(s.Path+"/"+stranger))
		require.NoError(s.T, s.granted(next, s.Timeout/2).Unlock(s.Ctx))
		require.Empty(s.T, behind)
	})
}
