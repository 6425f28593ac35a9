package zktest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func logOf(base int64, zxids ...int64) txnLog {
	l := txnLog{base: base}
	for _, z := range zxids {
		l.entries = append(l.entries, &txn{zxid: z})
	}
	return l
}

func (l *txnLog) zxids() (out []int64) {
	for _, t := range l.entries {
		out = append(out, t.zxid)
	}
	return out
}

func TestTxnLog(t *testing.T) {
	t.Run("KnowsWhatIsBehind", func(t *testing.T) {
		l := logOf(2, 3, 5, 9)
		require.EqualValues(t, 9, l.last())
		for zxid, want := range map[int64]int{2: 3, 3: 2, 4: 2, 5: 1, 9: 0, 10: 0} {
			require.Len(t, l.after(zxid), want, "%d", zxid)
		}
		empty := logOf(7)
		require.EqualValues(t, 7, empty.last())
		require.Empty(t, empty.after(3))
	})

	t.Run("TruncatingLeavesAloneWhatOthersWereGiven", func(t *testing.T) {
		l := logOf(0, 1, 2, 3)
		given := l.after(1)
		l.truncate(2)
		l.entries = append(l.entries, &txn{zxid: 4})
		require.Equal(t, []int64{1, 2, 4}, l.zxids())
		require.EqualValues(t, 3, given[1].zxid)
	})

	t.Run("FindsWhatTwoShare", func(t *testing.T) {
		for name, c := range map[string]struct {
			mine, theirs txnLog
			want         int64
			ok           bool
		}{
			"the same":            {logOf(0, 1, 2), logOf(0, 1, 2), 2, true},
			"theirs is behind":    {logOf(0, 1, 2, 3), logOf(0, 1), 1, true},
			"theirs went astray":  {logOf(0, 1, 2, 11, 12), logOf(0, 1, 2, 3, 4), 2, true},
			"theirs is ahead":     {logOf(0, 1), logOf(0, 1, 2), 1, true},
			"both empty":          {logOf(0), logOf(0), 0, true},
			"mine forgot as much": {logOf(2, 3), logOf(0, 1, 2), 2, true},
			"mine forgot more":    {logOf(5, 6), logOf(0, 1, 2), 0, false},
			"theirs forgot":       {logOf(0, 1, 2, 3), logOf(2, 3), 3, true},
		} {
			got, ok := c.mine.common(c.theirs)
			require.Equal(t, c.ok, ok, name)
			if ok {
				require.Equal(t, c.want, got, name)
			}
		}
	})

	t.Run("ForgetsInBatchesAndNothingThatIsNotApplied", func(t *testing.T) {
		l := logOf(0)
		for z := range int64(2*logLen - 1) {
			l.entries = append(l.entries, &txn{zxid: z + 1})
		}
		l.trim(2*logLen - 1)
		require.Len(t, l.entries, 2*logLen-1)
		l.entries = append(l.entries, &txn{zxid: 2 * logLen})
		l.trim(10)
		require.Len(t, l.entries, 2*logLen, "hardly anything is applied")
		l.trim(2*logLen - 3)
		require.Len(t, l.entries, logLen)
		require.EqualValues(t, logLen, l.base)
		require.EqualValues(t, logLen+1, l.entries[0].zxid)
	})
}
