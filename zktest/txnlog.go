package zktest

import (
	"cmp"
	"slices"
)

// logLen is how many transactions a server keeps beyond those that it needs
// itself, to bring others up to date without a snapshot.
const logLen = 500

// txnLog is one server's log: what it has been told to remember, committed or
// not. A zxid stands for one transaction only, on every server.
type txnLog struct {
	base    int64 // the last zxid that has been forgotten
	entries []*txn
}

// last returns the zxid of the last entry.
func (l *txnLog) last() int64 {
	if len(l.entries) == 0 {
		return l.base
	}
	return l.entries[len(l.entries)-1].zxid
}

// after returns the entries behind zxid, which are not to be changed.
func (l *txnLog) after(zxid int64) []*txn {
	i, found := l.find(zxid)
	if found {
		i++
	}
	return slices.Clip(l.entries[i:])
}

func (l *txnLog) find(zxid int64) (int, bool) {
	return slices.BinarySearchFunc(l.entries, zxid, func(t *txn, zxid int64) int { return cmp.Compare(t.zxid, zxid) })
}

// has reports whether zxid is one of the log's, as far as it remembers.
func (l *txnLog) has(zxid int64) bool {
	_, found := l.find(zxid)
	return found || zxid == l.base
}

// truncate forgets the entries behind zxid.
func (l *txnLog) truncate(zxid int64) {
	// Clipped, for whoever has been given these entries keeps them.
	l.entries = slices.Clip(l.entries[:len(l.entries)-len(l.after(zxid))])
}

// trim forgets the oldest entries: none that has not been applied, and in
// batches, for it moves the rest.
func (l *txnLog) trim(applied int64) {
	if len(l.entries) < 2*logLen {
		return
	}
	spare := len(l.entries) - max(logLen, len(l.after(applied)))
	if spare < logLen {
		return
	}
	l.base = l.entries[spare-1].zxid
	l.entries = slices.Clone(l.entries[spare:])
}

// common returns the last zxid that two logs share; false if what they share
// has been forgotten.
func (l *txnLog) common(other txnLog) (int64, bool) {
	for i := len(other.entries) - 1; i >= 0; i-- {
		if l.has(other.entries[i].zxid) {
			return other.entries[i].zxid, true
		}
	}
	return other.base, l.has(other.base)
}
