package zktest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// grown returns a state with something in every corner.
func grown() *state {
	s := newState(false)
	for i, c := range []change{
		{op: OpCreate, path: "/p", counter: 1},
		{op: OpCreate, path: "/p/e", kind: ephemeral, owner: 7, counter: 1},
		{op: OpCreateContainer, path: "/c", kind: container, counter: 2},
		{op: OpCreate, path: "/c/child", counter: 1},
		{op: OpDelete, path: "/c/child"},
		{op: OpCreateTTL, path: "/t", kind: transient, ttl: 5, counter: 3},
	} {
		s.apply(&txn{op: c.op, zxid: int64(i + 1), changes: []change{c}}, nil, func(int32, string, []acl) {})
	}
	s.apply(&txn{op: OpCreateSession, zxid: 10, session: 7}, nil, nil)
	return &s
}

// A leader judges by a copy of its state, and a follower begins with one.
func TestACloneSharesNothingThatChanges(t *testing.T) {
	s := grown()
	c := s.clone()
	require.Equal(t, *s, c)
	for _, pair := range [][2]reflect.Value{
		{reflect.ValueOf(*s), reflect.ValueOf(c)},
		{reflect.ValueOf(*s.tree), reflect.ValueOf(*c.tree)},
	} {
		for i := range pair[0].NumField() {
			a, b, name := pair[0].Field(i), pair[1].Field(i), pair[0].Type().Field(i).Name
			switch a.Kind() {
			case reflect.Map:
				require.NotZero(t, a.Len(), "%s: nothing of it is tested", name)
				fallthrough
			case reflect.Pointer, reflect.Slice, reflect.Chan:
				require.NotEqual(t, a.UnsafePointer(), b.UnsafePointer(), name)
			}
		}
	}
	require.Same(t, c.tree.nodes[""], c.tree.nodes["/"])
	for i, d := range []change{
		{op: OpDelete, path: "/p/e"},
		{op: OpDelete, path: "/c"},
		{op: OpDelete, path: "/t"},
		{op: OpSetData, path: "/p", data: []byte("x"), version: 1},
		{op: OpCreate, path: "/p/f", kind: ephemeral, owner: 7, counter: 2},
		{op: OpCreate, path: "/q", counter: 4},
	} {
		c.apply(&txn{op: d.op, zxid: int64(20 + i), changes: []change{d}}, nil, func(int32, string, []acl) {})
	}
	c.apply(&txn{op: OpCloseSession, zxid: 30, session: 7}, nil, nil)
	require.Equal(t, grown(), s)
}
