package zktest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// step is one step of a script. Scripts are data, so that a difference can be
// shrunk, printed, stored and played again. In paths "~" stands for a znode of
// the script's own.
type step struct {
	On   int       `json:"on"`             // the connection it is about, from 1
	Ask  []request `json:"ask,omitempty"`  // sent in one write
	Open *opening  `json:"open,omitempty"` // a new connection in the old one's place
	Drop bool      `json:"drop,omitempty"` // the client hangs up
	Raw  string    `json:"raw,omitempty"`  // bytes that end the connection, in hex
	// Expire hangs up and waits until the session has expired, for which it
	// negotiates this timeout, in milliseconds.
	Expire int `json:"expire,omitempty"`
	// Reap empties a container, or makes a znode with a short TTL, at ~/box and
	// waits until the server has deleted it.
	Reap string `json:"reap,omitempty"`
}

// opening is a handshake.
type opening struct {
	Of       int    `json:"of,omitempty"`   // the session that this connection has or had; 0 is a new one, -1 an unknown one
	Pass     string `json:"pass,omitempty"` // "wrong", "short", "null"; the right one if empty
	Seen     string `json:"seen,omitempty"` // the zxid the client has seen: "last", "ahead"; 0 if empty
	Timeout  int32  `json:"timeout,omitempty"`
	Flag     bool   `json:"flag,omitempty"` // whether the read-only flag is sent
	ReadOnly bool   `json:"ro,omitempty"`
	Protocol int32  `json:"proto,omitempty"`
	Cut      int    `json:"cut,omitempty"`
}

// request is a request, or an operation within one.
type request struct {
	Op      opName      `json:"op"`
	Xid     int32       `json:"xid,omitempty"` // the next number if 0
	Path    string      `json:"path,omitempty"`
	Data    string      `json:"data,omitempty"`
	Null    bool        `json:"null,omitempty"` // data is null, not empty
	Size    int         `json:"size,omitempty"` // data is as many bytes
	ACL     string      `json:"acl,omitempty"`  // one of acls; "open" if empty
	Flags   int32       `json:"flags,omitempty"`
	TTL     int64       `json:"ttl,omitempty"`
	Version int32       `json:"v,omitempty"`
	Watch   bool        `json:"watch,omitempty"`
	Mode    int32       `json:"mode,omitempty"` // of addWatch, removeWatches and checkWatches
	Back    int         `json:"back,omitempty"` // setWatches: as seen before so many steps
	Paths   [5][]string `json:"paths,omitzero"` // setWatches: data, exist, child, persistent, recursive
	Scheme  string      `json:"scheme,omitempty"`
	Subs    []request   `json:"subs,omitempty"`
	Cut     int         `json:"cut,omitempty"` // bytes missing at the end; too many if negative
}

// opName is an operation that is text in JSON.
type opName wire.Op

func (o opName) MarshalText() ([]byte, error) { return []byte(wire.Op(o).String()), nil }

func (o *opName) UnmarshalText(text []byte) error {
	for op := wire.Op(-20); op < 200; op++ {
		if op.String() == string(text) {
			*o = opName(op)
			return nil
		}
	}
	_, err := fmt.Sscanf(string(text), "op(%d)", (*int32)(o))
	return err
}

func (s step) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func parseStep(text string) (step, error) {
	var s step
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&s)
	return s, err
}
