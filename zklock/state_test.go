package zklock

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	allStates = []State{Idle, Acquiring, Held, Suspect, Lost, Releasing}
	allEvents = []event{begin, grant, giveUp, suspect, heal, lose, unlock, sweep, gone}
)

// The table is complete: what is not in it must be an error and change nothing.
func TestEveryPairOfStateAndEvent(t *testing.T) {
	legal := map[State]map[event]State{
		Idle:      {begin: Acquiring},
		Acquiring: {grant: Held, giveUp: Releasing},
		Held:      {suspect: Suspect, lose: Lost, unlock: Releasing},
		Suspect:   {heal: Held, lose: Lost, unlock: Releasing},
		Lost:      {sweep: Releasing, gone: Idle},
		Releasing: {gone: Idle},
	}
	for _, s := range allStates {
		for _, e := range allEvents {
			t.Run(fmt.Sprintf("%v/%v", s, e), func(t *testing.T) {
				to, err := next(s, e)
				if want, ok := legal[s][e]; ok {
					require.NoError(t, err)
					require.Equal(t, want, to)
					return
				}
				require.Error(t, err)
				require.Equal(t, s, to)
			})
		}
	}
}

func TestNoOwnershipAfterAnEnd(t *testing.T) {
	// Whatever happens to a lost or released attempt, it never comes back to Held
	// or Suspect except by a new begin.
	reached := map[State]bool{Lost: true, Releasing: true}
	for range allStates {
		for s := range reached {
			if s == Idle {
				continue
			}
			for _, e := range allEvents {
				to, _ := next(s, e)
				reached[to] = true
			}
		}
	}
	require.Equal(t, map[State]bool{Lost: true, Releasing: true, Idle: true}, reached)
}

func TestNamesOfStatesAndEvents(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range allStates {
		seen[s.String()] = true
	}
	for _, e := range allEvents {
		seen[e.String()] = true
	}
	for r := SessionExpired; r <= ClientClosed; r++ {
		seen[r.String()] = true
	}
	require.Len(t, seen, len(allStates)+len(allEvents)+int(ClientClosed))
	require.Equal(t, "State(77)", State(77).String())
	require.Equal(t, "event(77)", event(77).String())
	require.Equal(t, "Reason(77)", Reason(77).String())
}
