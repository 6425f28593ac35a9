package zktest

import "time"

// turns is how many goroutines have a lane of their own within laneWidth: every
// even instant but the multiples of 64, on which timers of whole microseconds
// and servers' ticks fall. Links have the odd ones.
const turns = laneWidth / 64 * 31

// takeTurn is called by the goroutine that serves one direction of a connection
// after something has woken it that may wake others as well: an event for many
// clients, the end of a freeze or a stall, the end of many connections. In a
// Network it waits for an instant that is this goroutine's alone, at most
// some microseconds away, so that the order in which several go on, and with it
// who gets the next number in the trace or the only fault of its kind, follows
// from the seed. Over TCP it returns at once: there chance decides anyway.
func (t *tap) takeTurn(d Direction) {
	if t.net != nil {
		<-time.After(t.net.untilTurn(2*t.number + int(d/ToClient)))
	}
}

// untilTurn returns how long it is until the next instant of the k-th goroutine.
// Those that share a lane take it one round after the other.
func (n *Network) untilTurn(k int) time.Duration {
	round, k := k/turns, k%turns
	lane := int64(k/31*64 + k%31*2 + 2)
	now := n.now()
	return time.Duration(toLane(now+1, lane) - now + int64(round)*laneWidth)
}
