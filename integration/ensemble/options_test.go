package ensemble

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatMakesNoEnsembleIsRefusedByName(t *testing.T) {
	for want, opts := range map[string][]Option{
		"WithServers(0): must be 1 to 7":                         {WithServers(0)},
		"WithServers(8): must be 1 to 7":                         {WithServers(8)},
		"WithImage: empty":                                       {WithImage("")},
		"WithTick(1ms): must be whole milliseconds, 10 or more":  {WithTick(time.Millisecond)},
		"WithInitLimit(50), WithSyncLimit(0): must be 1 or more": {WithSyncLimit(0)},
		"WithPatience(0s): must be positive":                     {WithPatience(0)},
		"WithServerEnv(4, …): there are 3 servers":               {WithServerEnv(4, "A", "b")},
	} {
		_, err := Start(t.Context(), opts...)
		require.EqualError(t, err, "ensemble: "+want)
	}
}

func TestTheImageIsTheEnvironmentsOrTheOfficialOne(t *testing.T) {
	t.Setenv(imageEnv, "")
	o, err := gather(nil)
	require.NoError(t, err)
	require.Equal(t, "zookeeper:3.9", o.image)
	t.Setenv(imageEnv, "other:1")
	o, err = gather(nil)
	require.NoError(t, err)
	require.Equal(t, "other:1", o.image)
}

func TestStatusIsReadFromWhatServersSay(t *testing.T) {
	st, err := parseStatus("Zookeeper version: 3.8.0-x\nLatency min/avg/max: 0/0.0/0\nZxid: 0x200000003\nMode: leader\nNode count: 5\n")
	require.NoError(t, err)
	require.Equal(t, Status{Mode: "leader", Zxid: 0x200000003}, st)
	st, err = parseStatus("This ZooKeeper instance is not currently serving requests\n")
	require.NoError(t, err)
	require.Zero(t, st)
	_, err = parseStatus("Zxid: many\n")
	require.Error(t, err)
}

// Only what nobody owns any more is removed: not what runs, not what another
// machine's processes own on an engine that is shared.
func TestOnlyWhatAnEndedProcessOwnsIsAbandoned(t *testing.T) {
	ended := exec.Command("true") // not this binary, which would wait for its turn
	require.NoError(t, ended.Run())
	pid := strconv.Itoa(ended.Process.Pid)
	require.True(t, abandoned("here/"+pid, "here"))
	require.False(t, abandoned("there/"+pid, "here"))
	require.False(t, abandoned("here/"+strconv.Itoa(os.Getpid()), "here"))
	for _, unreadable := range []string{"", "here", "here/", "here/x", "here/0", "here/-1"} {
		require.False(t, abandoned(unreadable, "here"), unreadable)
	}
}
