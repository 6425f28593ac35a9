package history

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zkfence/zkfence/fencing"
)

// searchTime bounds the search for an order. Commands of few workers overlap
// little, so it takes milliseconds.
const searchTime = 20 * time.Second

// state is the protected resource as the model knows it.
type state struct {
	last  fencing.Stamp
	value string
}

// answer is what a worker was told; one that was told nothing cannot be wrong.
type answer struct {
	Answer
	known bool
}

// reset is the call that an Override stands for.
const reset Call = "reset"

func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, out any) (bool, any) {
			return step(s.(state), in.(Command), out.(answer))
		},
	}
}

func step(s state, c Command, a answer) (bool, state) {
	next, want := s, Answer{OK: true}
	switch c.Call {
	case Read:
		want.Value = s.value
	case Raise:
		if c.Stamp.Token.Compare(s.last.Token) > 0 {
			next.last = fencing.Stamp{Token: c.Stamp.Token}
		}
		if c.Stamp.Token.Compare(s.last.Token) < 0 {
			want.Refused = Stale
		}
	case reset:
		next.last = c.Stamp
	case Write:
		if want.Refused = refusal(s.last, c.Stamp); want.Refused == "" {
			next = state{last: c.Stamp, value: c.Value}
		}
	}
	want.OK, want.Last = want.Refused == "", next.last
	return !a.known || a.Answer == want, next
}

// refusal is the rule of package fencing once more, so that the resource, which
// asks that package, is not judged by itself.
func refusal(last, s fencing.Stamp) Refusal {
	switch byToken := s.Token.Compare(last.Token); {
	case s.Token.IsZero() || s.Seq == 0:
		return Zero
	case byToken < 0:
		return Stale
	case byToken > 0 || s.Seq > last.Seq:
		return ""
	case s.Seq == last.Seq:
		return Duplicate
	default:
		return Superseded
	}
}

// linearizable judges each resource by itself: nobody is promised an order between
// two.
func linearizable(events []Event) (found []Violation) {
	of := map[string][]Event{}
	for _, e := range events {
		if e.Kind == Sent || e.Kind == Answered || e.Kind == Override {
			of[e.Resource] = append(of[e.Resource], e)
		}
	}
	for _, events := range of {
		found = append(found, explained(events)...)
	}
	return found
}

func explained(events []Event) []Violation {
	type key struct {
		worker string
		op     uint64
	}
	var ops []porcupine.Operation
	at := map[key]int{}
	clients := map[string]int{}
	for _, e := range events {
		if _, known := clients[e.Worker]; !known {
			clients[e.Worker] = len(clients)
		}
		switch e.Kind {
		case Override:
			ops = append(ops, porcupine.Operation{
				ClientId: clients[e.Worker], Input: Command{Call: reset, Stamp: e.Stamp}, Call: int64(e.At),
				Output: answer{}, Return: int64(e.At) + 1,
			})
		case Sent:
			at[key{e.Worker, e.Op}] = len(ops)
			ops = append(ops, porcupine.Operation{
				ClientId: clients[e.Worker], Input: e.Command, Call: int64(e.At),
				Output: answer{}, Return: math.MaxInt64,
			})
		case Answered:
			if i, known := at[key{e.Worker, e.Op}]; known {
				ops[i].Output, ops[i].Return = answer{e.Answer, true}, int64(e.At)
			}
		}
	}
	switch porcupine.CheckOperationsTimeout(model(), ops, searchTime) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return []Violation{{NotLinearizable, 0, "no order found, and not all were tried"}}
	}
	return []Violation{{NotLinearizable, 0, "no order of the commands explains their answers"}}
}
