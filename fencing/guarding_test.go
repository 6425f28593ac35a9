package fencing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

func TestCheckRaise(t *testing.T) {
	for _, c := range []struct {
		name        string
		last, floor fencing.Stamp
		token       uint64
		err         error
	}{
		{"NothingRemembered", fencing.Stamp{}, stamp(t, 7, 0), 7, nil},
		{"Newer", stamp(t, 6, 9), stamp(t, 7, 0), 7, nil},
		{"KnownKeepsItsSeq", stamp(t, 7, 9), stamp(t, 7, 9), 7, nil},
		{"KnownByARaise", stamp(t, 7, 0), stamp(t, 7, 0), 7, nil},
		{"Older", stamp(t, 8, 1), stamp(t, 8, 1), 7, fencing.ErrStale},
		{"Zero", stamp(t, 8, 1), stamp(t, 8, 1), 0, fencing.ErrZeroToken},
		{"ZeroWithNothingRemembered", fencing.Stamp{}, fencing.Stamp{}, 0, fencing.ErrZeroToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			floor, err := fencing.CheckRaise(c.last, stamp(t, c.token, 0).Token)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.floor, floor)
		})
	}
}

func TestNamed(t *testing.T) {
	require.NoError(t, fencing.Named("r", nil))
	errOther := errors.New("disk full")
	require.Equal(t, errOther, fencing.Named("", errOther))
	require.EqualError(t, fencing.Named("r", errOther), `resource "r": disk full`)
	require.ErrorIs(t, fencing.Named("r", errOther), errOther)

	_, refusal := fencing.Check(stamp(t, 8, 1), stamp(t, 7, 1))
	require.Equal(t, &fencing.StaleError{Resource: "r", Presented: stamp(t, 7, 1), Highest: stamp(t, 8, 1)}, fencing.Named("r", refusal))
	require.Empty(t, refusal.(*fencing.StaleError).Resource, "a copy was named")

	// Dug out of what wraps it, another resource's refusal would be this one's answer,
	// and an unknown outcome a definite one.
	within := fmt.Errorf("%w: an earlier try: %w", fencing.ErrUnknownOutcome, refusal)
	require.ErrorIs(t, fencing.Named("r", within), fencing.ErrUnknownOutcome)
	require.EqualError(t, fencing.Named("r", within), `resource "r": `+within.Error())
}

func TestValidateResourceAndOpID(t *testing.T) {
	for _, c := range []struct {
		what     string
		validate func(string) error
		kind     error
		limit    int
	}{
		{"Resource", fencing.ValidateResource, fencing.ErrBadResource, 512},
		{"OpID", fencing.ValidateOpID, fencing.ErrBadOpID, 255},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, good := range []string{"r", " ", "reports/2026-07.csv", "ü", strings.Repeat("x", c.limit), strings.Repeat("é", c.limit/2)} {
				require.NoError(t, c.validate(good), good)
			}
			for bad, why := range map[string]string{
				"":                                    "empty",
				strings.Repeat("x", c.limit+1):        "bytes",
				strings.Repeat("é", c.limit/2) + "éx": "bytes",
				"a\x00b":                              "U+0000 at byte 1",
				"a\n":                                 "U+000A",
				"a\x7f":                               "U+007F",
				"a\u0085":                             "U+0085",
				"a\xff":                               "not UTF-8",
			} {
				err := c.validate(bad)
				require.ErrorIs(t, err, c.kind, "%q", bad)
				require.ErrorContains(t, err, why)
				require.Less(t, len(err.Error()), 300, "a stranger's text is cut")
			}
		})
	}
}

func TestOverrideIsARecord(t *testing.T) {
	good := fencing.Override{
		Resource: "reports/2026-07.csv", From: stamp(t, 0x500000009, 3), To: stamp(t, 0x100000002, 0),
		Who: "Ada", Why: `rebuilt, "all" stopped`, When: time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("", 3600)),
	}
	require.NoError(t, good.Validate())
	require.Equal(t, `override of "reports/2026-07.csv" from 0x500000009:3 to 0x100000002:0 by "Ada" at 2026-07-01T11:00:00Z: "rebuilt, \"all\" stopped"`, good.String())

	text, err := json.Marshal(good)
	require.NoError(t, err)
	require.JSONEq(t, `{"resource":"reports/2026-07.csv","from":"0x500000009:3","to":"0x100000002:0","who":"Ada","why":"rebuilt, \"all\" stopped","when":"2026-07-01T12:00:00+01:00"}`, string(text))
	var back fencing.Override
	require.NoError(t, json.Unmarshal(text, &back))
	require.True(t, good.When.Equal(back.When))
	back.When = good.When
	require.Equal(t, good, back)

	for name, spoil := range map[string]func(*fencing.Override){
		"Resource": func(o *fencing.Override) { o.Resource = "" },
		"Nobody":   func(o *fencing.Override) { o.Who = "" },
		"NoReason": func(o *fencing.Override) { o.Why = "" },
		"Lines":    func(o *fencing.Override) { o.Why = "a\nb" },
		"LongWho":  func(o *fencing.Override) { o.Who = strings.Repeat("x", 256) },
		"LongWhy":  func(o *fencing.Override) { o.Why = strings.Repeat("x", 1025) },
		"SeqAlone": func(o *fencing.Override) { o.To = stamp(t, 0, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			spoil(&bad)
			require.Error(t, bad.Validate())
		})
	}
	anew := good
	anew.To = fencing.Stamp{}
	require.NoError(t, anew.Validate())
}
