package bubble_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

const failingCase = "BUBBLE_TEST_FAILING_CASE"

// failing are tests that must fail; each runs in a process of its own.
var failing = map[string]func(t *testing.T){
	"stuck on the network": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			ticker := time.NewTicker(time.Second) // moves the clock for ever
			b.Cleanup(ticker.Stop)
			b.Server.Blackhole(true) // or the server ends a connection that says nothing
			c, err := b.Dialer("a")("tcp", b.Server.Addr(), 0)
			require.NoError(b.T, err)
			_, err = c.Read(make([]byte, 1))
			b.T.Log("set free by", err)
		}, bubble.WithVirtualLimit(2*time.Minute))
	},
	"stuck for good": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			ticker := time.NewTicker(time.Second)
			b.Cleanup(ticker.Stop)
			<-make(chan int)
		}, bubble.WithVirtualLimit(2*time.Minute))
	},
	"spinning": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			for b.T.Context().Err() == nil {
			}
		}, bubble.WithRealLimit(300*time.Millisecond))
	},
	"leaking": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			go func() { <-make(chan int) }()
		})
	},
	"failing": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			b.Cleanup(func() { b.T.Log("the cleanup ran") })
			conn := connect(b, "a", 10*time.Second)
			_, err := conn.Create("/seen", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(b.T, err)
			require.Equal(b.T, 1, 2)
		}, bubble.WithSeed(42))
	},
	"failing ensemble": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			_, err := connect(b, "a", 10*time.Second).Create("/seen", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(b.T, err)
			b.T.Error("of the test's own")
		}, bubble.WithSeed(42), bubble.WithEnsemble(3))
	},
	"panicking": func(t *testing.T) {
		bubble.Run(t, func(*bubble.B) { panic("of the test's own") }, bubble.WithSeed(42))
	},
	"panicking after an error": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			b.T.Error("first")
			panic("of the test's own")
		}, bubble.WithSeed(42))
	},
	"client not closed": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			conn, _, err := zk.Connect(b.Servers(), 10*time.Second, zk.WithDialer(b.Dialer("a")), zk.WithLogger(quiet{}))
			require.NoError(b.T, err)
			_, err = conn.Create("/seen", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(b.T, err)
		}, bubble.WithSeed(42))
	},
	"outer test failing inside": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			_, err := connect(b, "a", 10*time.Second).Create("/seen", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(b.T, err)
			t.Error("of the outer test")
		}, bubble.WithSeed(42))
	},
	"outer test ending inside": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			_, err := connect(b, "a", 10*time.Second).Create("/seen", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			t.Fatal("of the outer test")
		}, bubble.WithSeed(42))
	},
	"outer test failing after": func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			_, err := connect(b, "a", 10*time.Second).Create("/seen", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(b.T, err)
		}, bubble.WithSeed(42))
		t.Error("of the outer test")
	},
	"failed before": func(t *testing.T) {
		t.Error("of the outer test")
		bubble.Run(t, func(*bubble.B) {}, bubble.WithSeed(42))
	},
}

// bad are options, by what Run says of them.
var bad = map[string]bubble.Option{
	"tick -1ns": bubble.WithServer(zktest.WithTick(-1)),
	"bubble: WithVirtualLimit(0s): must be above 0":    bubble.WithVirtualLimit(0),
	"bubble: WithVirtualLimit(-1s): must be above 0":   bubble.WithVirtualLimit(-time.Second),
	"bubble: WithRealLimit(0s): must be above 0":       bubble.WithRealLimit(0),
	"bubble: WithEnsemble(0): must be from 1 to 99":    bubble.WithEnsemble(0),
	"bubble: WithEnsemble(1000): must be from 1 to 99": bubble.WithEnsemble(1000),
	"bubble: an Option is nil":                         nil,
	"zktest: an Option is nil":                         bubble.WithServer(nil),
	"WithSyncLimit is for an ensemble":                 bubble.WithServer(zktest.WithSyncLimit(5)),
}

func TestFailing(t *testing.T) {
	name := os.Getenv(failingCase)
	f := failing[name]
	if option, ok := bad[name]; ok {
		f = func(t *testing.T) { bubble.Run(t, func(*bubble.B) { t.Log("it ran") }, option) }
	}
	if f == nil {
		t.Skip("run by TestWatchdog, in processes of its own")
	}
	f(t)
}

// outputOf runs a failing test and returns what it printed.
func outputOf(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestFailing$")
	cmd.Env = append(os.Environ(), failingCase+"="+name)
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err())
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	return string(out)
}

func TestWatchdog(t *testing.T) {
	t.Run("AtTheVirtualLimitWhoWaitsForTheNetworkIsSetFree", func(t *testing.T) {
		out := outputOf(t, "stuck on the network")
		require.Contains(t, out, "not done after 2m0s of virtual time")
		require.Contains(t, out, "watchdog_test.go") // the stack of the stuck goroutine
		require.Contains(t, out, "set free by")
		require.Contains(t, out, "seed 1;")
		require.NotContains(t, out, "panic")
	})

	t.Run("WhoIsStillStuckEndsTheProcess", func(t *testing.T) {
		out := outputOf(t, "stuck for good")
		require.Contains(t, out, "panic: bubble: test TestFailing not done after 2m0s of virtual time")
		require.Contains(t, out, "watchdog_test.go")
	})

	t.Run("WhoStopsTheVirtualClockMeetsTheRealLimit", func(t *testing.T) {
		out := outputOf(t, "spinning")
		require.Contains(t, out, "panic: bubble: test TestFailing not done after 300ms of real time")
		require.Contains(t, out, "does a client lack b.Dialer?")
		require.Contains(t, out, "watchdog_test.go")
	})

	t.Run("AGoroutineThatIsLeftFails", func(t *testing.T) {
		out := outputOf(t, "leaking")
		require.Contains(t, out, "blocked goroutines remain")
		require.Contains(t, out, "watchdog_test.go") // the stack of what is left
	})

	t.Run("AFailurePrintsSeedAndTraceAndStillCleansUp", func(t *testing.T) {
		out := outputOf(t, "failing")
		require.Contains(t, out, "seed 42; to run it again: BUBBLE_SEED=42 go test -count=1 -run '^TestFailing$' .")
		require.Contains(t, out, `create "/seen"`)
		require.Contains(t, out, "the cleanup ran")
		out = outputOf(t, "failing ensemble")
		require.Contains(t, out, "seed 42;")
		require.Regexp(t, `\n +[123]: +\S+ +a#1 +s1 +create "/seen"`, out)
	})

	t.Run("TheEnvironmentOverridesTheSeed", func(t *testing.T) {
		t.Setenv("BUBBLE_SEED", "77")
		require.Contains(t, outputOf(t, "failing"), "seed 77;")
		bubble.Run(t, func(b *bubble.B) { require.EqualValues(b.T, 77, b.Seed) }, bubble.WithSeed(3))
		t.Setenv("BUBBLE_SEED", "x")
		require.Contains(t, outputOf(t, "failing"), `BUBBLE_SEED="x": not a seed`)
	})

	t.Run("APanicPrintsTheSeed", func(t *testing.T) {
		for _, name := range []string{"panicking", "panicking after an error"} {
			out := outputOf(t, name)
			require.Equal(t, 1, strings.Count(out, "seed 42;"), out)
			require.Contains(t, out, "panic: of the test's own")
			require.Contains(t, out, "watchdog_test.go")
			require.NotContains(t, out, "Cleanup?")
		}
	})

	t.Run("BeforeSynctestPanicsTheReportAndAHintAreOut", func(t *testing.T) {
		out := outputOf(t, "client not closed")
		report, panicked, found := strings.Cut(out, "panic: deadlock: main bubble goroutine has exited")
		require.True(t, found, out)
		require.Contains(t, report, "seed 42;")
		require.Contains(t, report, `create "/seen"`)
		require.Contains(t, report, "is a client not closed by a Cleanup?")
		require.Contains(t, panicked, "go-zookeeper")
	})

	t.Run("AFailureOfTheOuterTestPrintsSeedAndTrace", func(t *testing.T) {
		for _, name := range []string{"outer test failing inside", "outer test ending inside", "outer test failing after"} {
			out := outputOf(t, name)
			require.Equal(t, 1, strings.Count(out, "seed 42;"), "%s: %s", name, out)
			require.Contains(t, out, `create "/seen"`)
		}
		require.NotContains(t, outputOf(t, "failed before"), "seed 42;")
	})

	t.Run("ABadOptionIsNamed", func(t *testing.T) {
		for want := range bad {
			out := outputOf(t, want)
			require.Contains(t, out, want)
			require.NotContains(t, out, "it ran")
			require.NotContains(t, out, "panic")
		}
	})
}
