package fencing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
)

// mustToken stands in for a Hold's Token.
func mustToken(n uint64) fencing.Token {
	t, err := fencing.FromUint64(n)
	if err != nil {
		panic(err)
	}
	return t
}

func ExampleGate() {
	ctx := context.Background()
	report := "empty"
	gate := fencing.NewGate(fencing.Stamp{})
	gate.Resource = "reports/2026-07.csv"
	publish := func(s fencing.Stamp, text string) error {
		return gate.Admit(ctx, s, func() error { report = text; return nil })
	}

	paused := fencing.NewSequencer(mustToken(0x200000007))
	fmt.Println(publish(paused.Next(), "draft"))

	// Another owner takes over: it raises the floor, then reads, then writes.
	successor := fencing.NewSequencer(mustToken(0x20000000b))
	fmt.Println(gate.Raise(mustToken(0x20000000b)))
	fmt.Println(publish(successor.Next(), report+", finished by the successor"))

	// The first one wakes up and believes that it still owns the report.
	err := publish(paused.Next(), "draft, finished too late")
	fmt.Println(errors.Is(err, fencing.ErrStale))
	fmt.Println(err)
	fmt.Println(report)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// true
	// fencing: resource "reports/2026-07.csv": stale token: presented 0x200000007:2 is older than remembered 0x20000000b:1
	// draft, finished by the successor
}

func ExampleGate_Admit_retry() {
	ctx := context.Background()
	gate := fencing.NewGate(fencing.Stamp{})
	holder := fencing.NewSequencer(mustToken(7))

	// The answer to the first try was lost: a retry carries the same Stamp, and
	// a duplicate is success.
	s := holder.Next()
	_ = gate.Admit(ctx, s, func() error { return nil })
	err := gate.Admit(ctx, s, func() error { panic("applied twice") })
	fmt.Println(errors.Is(err, fencing.ErrDuplicate))

	// Once a later command went through, nobody can tell about the earlier one.
	_ = gate.Admit(ctx, holder.Next(), func() error { return nil })
	err = gate.Admit(ctx, s, func() error { panic("applied twice") })
	fmt.Println(errors.Is(err, fencing.ErrSuperseded), errors.Is(err, fencing.ErrDuplicate))
	// Output:
	// true
	// true false
}

func ExampleCheck() {
	last := fencing.Stamp{Token: mustToken(7), Seq: 3}

	floor, err := fencing.Check(last, fencing.Stamp{Token: mustToken(7), Seq: 4})
	fmt.Println(floor, err) // may run; if it succeeds, 0x7:4 is remembered

	floor, err = fencing.Check(last, fencing.Stamp{Token: mustToken(9), Seq: 1})
	fmt.Println(floor, err) // may run, and 0x9:0 is remembered even if it fails

	floor, err = fencing.Check(last, fencing.Stamp{Token: mustToken(5), Seq: 8})
	fmt.Println(floor, err)
	// Output:
	// 0x7:3 <nil>
	// 0x9:0 <nil>
	// 0x7:3 fencing: stale token: presented 0x5:8 is older than remembered 0x7:3
}

func ExampleToken() {
	t := mustToken(0x200000007)
	text, _ := json.Marshal(map[string]fencing.Token{"token": t})
	column, _ := t.Value()
	fmt.Println(t, string(text), column)

	var back struct{ Token fencing.Token }
	fmt.Println(json.Unmarshal([]byte(`{"token":"0x200000007"}`), &back), back.Token == t)
	fmt.Println(json.Unmarshal([]byte(`{"token":8589934599}`), &back))
	// Output:
	// 0x200000007 {"token":"0x200000007"} 8589934599
	// <nil> true
	// fencing: token: JSON "8589934599" is not a string; a number would lose digits as a float64
}

func ExampleParseStamp() {
	s, err := fencing.ParseStamp("0x200000007:3")
	fmt.Println(s.Token, s.Seq, err)
	_, err = fencing.ParseStamp("0x200000007:03")
	fmt.Println(err)
	// Output:
	// 0x200000007 3 <nil>
	// fencing: stamp "0x200000007:03": want <token>:<seq>, as in 0x200000007:3
}

func ExampleWithStamp() {
	holder := fencing.NewSequencer(mustToken(7))
	ctx := fencing.WithStamp(context.Background(), holder.Next())

	// Far below, where the write is made:
	if s, ok := fencing.StampFromContext(ctx); ok {
		fmt.Println("X-Fencing-Stamp:", s)
	}
	// Output:
	// X-Fencing-Stamp: 0x7:1
}
