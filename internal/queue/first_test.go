package queue

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zktest"
)

// enrolled is a place whose node stands; the zero context of its wait ends with
// the test.
func (w *world) enrolled(t *testing.T, s *session.Session, data string) *Place {
	t.Helper()
	line := w.line
	line.Data = []byte(data)
	p := line.Join(s)
	require.NoError(t, p.enrol(w.ctx))
	return p
}

// first is what a node will be shown as.
func (w *world) first(t *testing.T, p *Place, data string) First {
	t.Helper()
	_, st, err := w.Server.Get(p.Path())
	require.NoError(t, err)
	return First{Child: p.node.Child, Czxid: st.Czxid, Data: data}
}

func TestFirstIsWhoeverIsFirstInLine(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		look := func() First {
			t.Helper()
			f, err := w.line.First(w.ctx, w.s)
			require.NoError(t, err)
			return f
		}
		require.Zero(t, look(), "no directory")
		require.NoError(t, w.Server.Create(dir+"/config", nil))
		require.Zero(t, look(), "strangers alone")
		a, b := w.enrolled(t, w.s, "a"), w.enrolled(t, w.s, "b")
		wantB := w.first(t, b, "b")
		require.Equal(t, w.first(t, a, "a"), look())
		<-a.Leave().Done()
		require.Equal(t, wantB, look())
		<-b.Leave().Done()
		require.Zero(t, look())
	})
}

// Past the counter's end all have one number, and only the transactions that made
// the nodes say who came first.
func TestFirstIsByCzxidWhereNumbersCannotTell(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		require.NoError(t, w.Server.Create(dir, nil))
		require.NoError(t, w.Server.SetSequence(dir, math.MaxInt32-1))
		var all []*Place
		for _, data := range []string{"a", "b", "c", "d", "e"} {
			all = append(all, w.enrolled(t, w.s, data))
		}
		for i, data := range []string{"a", "b", "c", "d", "e"} {
			f, err := w.line.First(w.ctx, w.s)
			require.NoError(t, err)
			require.Equal(t, w.first(t, all[i], data), f)
			// The one after it goes between the list and the reads.
			<-all[i].Leave().Done()
		}
	})
}

func TestFirstErrors(t *testing.T) {
	t.Run("ItsContextsCauseWhateverThatIs", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.Server.Freeze(zktest.BothWays)
			ctx, cancel := context.WithCancelCause(w.ctx)
			time.AfterFunc(time.Second, func() { cancel(zk.ErrNoNode) }) // a cause that looks like an answer
			_, err := w.line.First(ctx, w.s)
			require.ErrorIs(t, err, zk.ErrNoNode)
			w.Server.Heal()
		})
	})

	t.Run("TheSessionsEnd", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.Server.Freeze(zktest.BothWays)
			_, err := w.line.First(w.ctx, w.s)
			require.ErrorIs(t, err, session.ErrLost)
			w.Server.Heal()
		})
	})

	t.Run("AnotherRecipe", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.enrolled(t, w.s, "a")
			require.NoError(t, w.Server.Create(dir+"/x-lease-0000000000", nil))
			_, err := w.line.First(w.ctx, w.s)
			var foreign *ForeignError
			require.ErrorAs(t, err, &foreign)
		})
	})

	t.Run("AnAnswerThatIsLostIsNone", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			p := w.enrolled(t, w.s, "a")
			w.Server.DropReply(zktest.OpGetChildren2, 2)
			w.Server.DropReply(zktest.OpGetData, 2)
			f, err := w.line.First(w.ctx, w.s)
			require.NoError(t, err)
			require.Equal(t, w.first(t, p, "a"), f)
		})
	})
}

// follow follows until the test ends, or stop; told is what it has told.
func (w *world) follow(t *testing.T) (told func() []First, stop func() error) {
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	var news []First
	go func() { done <- w.line.Follow(ctx, w.client, func(f First) { news = append(news, f) }) }()
	stop = func() error {
		cancel()
		err := <-done
		done <- err
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return func() []First {
		w.settle()
		return news
	}, stop
}

func TestFollowTellsAtOnceAndAtEachChange(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		told, stop := w.follow(t)
		want := []First{{}}
		require.Equal(t, want, told(), "no directory")
		a := w.enrolled(t, w.s, "a")
		want = append(want, w.first(t, a, "a"))
		require.Equal(t, want, told())
		b := w.enrolled(t, w.s, "b")
		require.Equal(t, want, told())
		want = append(want, w.first(t, b, "b"))
		<-a.Leave().Done()
		require.Equal(t, want, told())
		_, err := session.Call(w.ctx, w.s, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(b.Path(), []byte("b2"), -1) })
		require.NoError(t, err)
		want = append(want, w.first(t, b, "b2"))
		require.Equal(t, want, told())
		<-b.Leave().Done()
		want = append(want, First{})
		require.Equal(t, want, told())
		require.NoError(t, w.Server.Delete(dir))
		want = append(want, First{})
		require.Equal(t, want, told(), "no directory, once more")
		c := w.enrolled(t, w.s, "c")
		want = append(want, w.first(t, c, "c"))
		require.Equal(t, want, told())
		require.ErrorIs(t, stop(), context.Canceled)
	})
}

// A stranger in an empty directory wakes the follower, and is nobody.
func TestFollowIsNotFooledByStrangers(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		require.NoError(t, w.Server.Create(dir, nil))
		told, _ := w.follow(t)
		require.Len(t, told(), 1)
		before := w.Server.Count(zktest.AnyOp)
		require.NoError(t, w.Server.Create(dir+"/config", nil))
		for _, f := range told() {
			require.Zero(t, f)
		}
		require.Equal(t, 2, w.Server.Count(zktest.AnyOp)-before, "a list and a watch, and no spinning")
		a := w.enrolled(t, w.s, "a")
		require.Equal(t, w.first(t, a, "a"), told()[len(told())-1])
	})
}

// What comes between the empty list and the watch on it has no event to come: the
// watch's own list shows it.
func TestFollowSeesWhatCameBetweenListAndWatch(t *testing.T) {
	for claim, come := range map[string]func(w *world){
		"AContender":    func(w *world) { w.enrolled(w.T, w.s2(), "a") },
		"AnotherRecipe": func(w *world) { require.NoError(w.T, w.Server.Create(dir+"/x-lease-0000000000", nil)) },
	} {
		t.Run(claim, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				require.NoError(t, w.Server.Create(dir, nil))
				w.Server.From("a").AtReply(zktest.OpGetChildren2, func(zktest.Request) { come(w) })
				var news []First
				ctx, cancel := context.WithCancel(w.ctx)
				done := make(chan error, 1)
				go func() { done <- w.line.Follow(ctx, w.client, func(f First) { news = append(news, f) }) }()
				w.settle()
				if claim == "AContender" {
					require.Len(t, news, 1)
					require.Equal(t, "a", news[0].Data)
					cancel()
					require.ErrorIs(t, <-done, context.Canceled)
					return
				}
				var foreign *ForeignError
				require.ErrorAs(t, <-done, &foreign)
				require.Empty(t, news)
				cancel()
			})
		})
	}
}

// s2 is the session of another client.
func (w *world) s2() *session.Session {
	_, s := w.dial("other")
	return s
}

// flicker has host never find by a read the node that each of its lists shows, as
// if the answers came from servers that lag behind one another.
func (w *world) flicker(t *testing.T, host, child string) (stop func()) {
	t.Helper()
	path := dir + "/" + child
	require.NoError(t, w.Server.Create(path, nil))
	return w.Server.From(host).OnReply(func(r zktest.Request) {
		switch {
		case r.Op == zktest.OpGetChildren2:
			_ = w.Server.Delete(path)
		case r.Path == path:
			_ = w.Server.Create(path, nil)
		}
	})
}

// looks is how often a host lists in a minute.
func (w *world) looks(host string) int {
	time.Sleep(10 * time.Second) // its pauses grow
	before := w.Server.From(host).Count(zktest.OpGetChildren2)
	time.Sleep(time.Minute)
	return w.Server.From(host).Count(zktest.OpGetChildren2) - before
}

const flickering = "_c_00000000-0000-4000-8000-000000000000-lock-0000000000"

// Who is not found must not be asked for as fast as the answers come.
func TestFollowDoesNotSpin(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		steady := w.flicker(t, "a", flickering)
		told, _ := w.follow(t)
		require.Empty(t, told())
		looks := w.looks("a")
		require.LessOrEqual(t, looks, 120+1, "half a second is the shortest of the longest pauses")
		require.GreaterOrEqual(t, looks, 60-1, "it goes on looking")
		steady()
		time.Sleep(5 * time.Second)
		there := w.Server.Exists(dir + "/" + flickering)
		require.Equal(t, there, told()[len(told())-1].Child == flickering)
	})
}

// What it met long ago must not slow it down now.
func TestFollowsPausesAreShortAgainOnceItHasFoundSomebody(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		path := dir + "/" + flickering
		var misses atomic.Int64
		misses.Store(math.MaxInt64)
		require.NoError(t, w.Server.Create(path, nil))
		// Shown by each list, and gone for the read after it, that many times.
		w.Cleanup(w.Server.From("a").OnRequest(func(r zktest.Request) {
			if r.Op == zktest.OpGetChildren2 {
				_ = w.Server.Create(path, nil)
			}
		}))
		w.Cleanup(w.Server.From("a").OnReply(func(r zktest.Request) {
			if r.Op == zktest.OpGetChildren2 && misses.Add(-1) >= 0 {
				_ = w.Server.Delete(path)
			}
		}))
		told, _ := w.follow(t)
		time.Sleep(10 * time.Second)
		require.Empty(t, told())
		misses.Store(0)
		time.Sleep(2 * time.Second)
		require.Len(t, told(), 1)
		misses.Store(2)
		require.NoError(t, w.Server.Delete(path))
		w.settle()
		require.Len(t, told(), 2, "two misses, a short pause, and found")
	})
}

func TestAWaiterDoesNotSpin(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		steady := w.flicker(t, "a", flickering)
		require.NoError(t, w.Server.SetSequence(dir, 7))
		p := w.line.Join(w.s)
		done := make(chan error, 1)
		go func() { done <- p.Await(w.ctx, Events{}) }()
		looks := w.looks("a")
		require.LessOrEqual(t, looks, 120+1)
		require.GreaterOrEqual(t, looks, 60-1)
		steady()
		_ = w.Server.Delete(dir + "/" + flickering)
		require.NoError(t, <-done)
		w.alone(p)
	})
}

func TestFollowGoesOnOverReconnectsAndSessions(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		other := w.s2()
		told, stop := w.follow(t)
		a := w.enrolled(t, other, "a")
		wantA := w.first(t, a, "a")
		require.Equal(t, wantA, told()[len(told())-1])
		w.Server.From("a").Refuse(true)
		w.Server.From("a").Cut()
		b := w.enrolled(t, other, "b")
		wantB := w.first(t, b, "b")
		<-a.Leave().Done()
		require.Equal(t, wantA, told()[len(told())-1])
		w.Server.From("a").Refuse(false)
		time.Sleep(time.Second)
		require.Equal(t, wantB, told()[len(told())-1])

		n := len(told())
		require.NoError(t, w.Server.Expire(w.s.ID()))
		<-w.s.Context().Done()
		time.Sleep(time.Second)
		require.Len(t, told(), n+1, "read again on the next session")
		<-b.Leave().Done()
		require.Zero(t, told()[len(told())-1])
		require.ErrorIs(t, stop(), context.Canceled)
	})
}

func TestFollowEndsWithTheClient(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		told, stop := w.follow(t)
		require.Len(t, told(), 1)
		require.NoError(t, w.client.Close(w.ctx))
		require.ErrorIs(t, stop(), session.ErrClosed)
	})
}
