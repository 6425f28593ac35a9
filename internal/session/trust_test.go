package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The arithmetic of trust, bare: a script of what one client saw, with the
// instant until which it may trust its session after each answered proof.
func TestTrust(t *testing.T) {
	const s = time.Second
	const ms = time.Millisecond
	type step struct {
		at      time.Duration
		connect time.Duration // handshake begun at; answered at `at`
		request time.Duration // a request begun at; answered at `at`
		proof   time.Duration // a proof sent at; answered at `at`
		timeout time.Duration // of the handshake
		until   time.Duration // wanted after the step; 0: no trust yet
	}
	tests := []struct {
		name  string
		rule  rule
		steps []step
	}{
		{"NoAnswerIsNoTrust", rule{tick: 2 * s}, []step{
			{at: 1 * s, connect: 0, timeout: 4 * s, until: 0},
			{at: 2 * s, request: 1900 * ms, until: 0},
		}},
		{"AHandshakeCountsFromItsStartOnceAProofIsAnswered", rule{tick: 2 * s}, []step{
			{at: 100 * ms, connect: 50 * ms, timeout: 4 * s},
			{at: 300 * ms, proof: 200 * ms, until: 50*ms + 4*s - 200*ms},
		}},
		{"ARequestCountsOnlyOnceItHasRipened", rule{tick: 2 * s}, []step{
			{at: 10 * ms, connect: 0, timeout: 4 * s},
			{at: 1000 * ms, request: 990 * ms},
			// ripe after 1 s + 80 ms: at 2079 the handshake still counts, at 2080 the request.
			{at: 2100 * ms, proof: 2079 * ms, until: 3800 * ms},
			{at: 2101 * ms, proof: 2080 * ms, until: 990*ms + 3800*ms},
		}},
		{"TheNewestRipeStartCountsNotTheNewestAnswer", rule{tick: 2 * s}, []step{
			{at: 10 * ms, connect: 0, timeout: 4 * s},
			{at: 900 * ms, request: 100 * ms},
			{at: 901 * ms, request: 500 * ms}, // answered within T/256 of the last: forgotten, which is safe
			{at: 1000 * ms, request: 600 * ms},
			{at: 2500 * ms, proof: 2400 * ms, until: 600*ms + 3800*ms},
		}},
		{"AProofIsARequestForLaterProofs", rule{tick: 400 * ms}, []step{
			{at: 10 * ms, connect: 0, timeout: 4 * s},
			{at: 505 * ms, proof: 500 * ms, until: 3800 * ms},
			{at: 1005 * ms, proof: 1000 * ms, until: 500*ms + 3800*ms},
			{at: 1505 * ms, proof: 1500 * ms, until: 1000*ms + 3800*ms},
		}},
		{"AProofThatHangsTeachesFromBeforeItsSend", rule{tick: 400 * ms}, []step{
			{at: 10 * ms, connect: 0, timeout: 4 * s},
			{at: 500 * ms, request: 490 * ms},
			{at: 3000 * ms, proof: 600 * ms, until: 3800 * ms}, // the request was not ripe at 600
		}},
		{"AReconnectCountsAnewAndShrinksWhatWasBefore", rule{tick: 400 * ms}, []step{
			{at: 10 * ms, connect: 0, timeout: 6 * s},
			{at: 100 * ms, proof: 90 * ms, until: 6*s - 300*ms},
			{at: 1010 * ms, connect: 1000 * ms, timeout: 4 * s, until: 4*s - 200*ms},
			{at: 1100 * ms, proof: 1050 * ms, until: 1000*ms + 4*s - 200*ms},
		}},
		{"ALongerTimeoutHelpsOnlyTouchesAfterIt", rule{tick: 400 * ms}, []step{
			{at: 10 * ms, connect: 0, timeout: 4 * s},
			{at: 100 * ms, proof: 90 * ms, until: 3800 * ms},
			{at: 1010 * ms, connect: 1000 * ms, timeout: 6 * s, until: 3800 * ms},
			{at: 1100 * ms, proof: 1050 * ms, until: 1000*ms + 6*s - 300*ms},
		}},
		{"AnExplicitMarginIsTakenAsItIs", rule{tick: 400 * ms, margin: 1 * s}, []step{
			{at: 10 * ms, connect: 0, timeout: 4 * s},
			{at: 100 * ms, proof: 90 * ms, until: 3 * s},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := trust{rule: tt.rule}
			var on *touches
			for i, st := range tt.steps {
				switch {
				case st.timeout != 0:
					on = newTouches(tt.rule, st.timeout, st.connect)
					if i > 0 {
						tr.renegotiate(st.timeout)
					}
				case st.request != 0:
					on.answered(st.request, st.at)
				case st.proof != 0:
					vouched := on.vouched(st.proof)
					on.answered(st.proof, st.at)
					tr.learn(vouched, on.timeout, st.proof)
				}
				until, ok := tr.until()
				require.Equal(t, st.until != 0 || tr.known, ok, "step %d", i)
				if st.until != 0 {
					require.Equal(t, st.until, until, "step %d", i)
				}
			}
		})
	}
}

// Whatever is forgotten to bound memory, trust is never longer than with every
// request remembered, and memory stays small.
func TestTouchesStayFew(t *testing.T) {
	r := rule{tick: 2 * time.Second}
	on := newTouches(r, 4*time.Second, 0)
	var exact instant
	type pair struct{ start, answered instant }
	var all []pair
	for i := range 100_000 {
		at := time.Duration(i) * 100 * time.Microsecond
		on.answered(at-50*time.Microsecond, at)
		all = append(all, pair{at - 50*time.Microsecond, at})
		if i%5000 == 0 {
			for len(all) > 0 && all[0].answered <= at-r.ripe(4*time.Second) {
				exact = max(exact, all[0].start)
				all = all[1:]
			}
			got := on.vouched(at)
			require.LessOrEqual(t, got, exact)
			require.GreaterOrEqual(t, got, exact-4*time.Second/128)
		}
		require.LessOrEqual(t, len(on.ripening), 300+5000*100/15625)
	}
}
