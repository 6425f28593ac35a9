package httpfence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// answer holds back what a handler says, up to limit bytes.
type answer struct {
	header http.Header
	sent   http.Header // as it was when the status was
	status int
	body   bytes.Buffer
	limit  int
	over   bool
	once   http.Header // of what was sent: not for whoever is told again

	// A gateway's: what the service's answer means, or why there is none.
	verdict Verdict
	lost    error
}

func newAnswer(limit int) *answer { return &answer{header: make(http.Header), limit: limit} }

func (a *answer) Header() http.Header { return a.header }

// WriteHeader panics where net/http does. Swallowed, the handler's mistake would be
// followed by an implicit 200, and what it wanted to fail told as applied.
func (a *answer) WriteHeader(status int) {
	if status < 100 || status > 999 || status == http.StatusSwitchingProtocols {
		panic(fmt.Sprintf("httpfence: invalid WriteHeader code %d", status))
	}
	if status < 200 || a.status != 0 {
		return // 1xx goes nowhere: nothing is sent before the end
	}
	a.status, a.sent = status, a.header.Clone()
}

// Write never fails: the command goes on, whatever can be kept of its answer.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		if a.header.Get("Content-Type") == "" && a.header.Get("Content-Encoding") == "" {
			a.header.Set("Content-Type", http.DetectContentType(p)) // as net/http does
		}
		a.WriteHeader(http.StatusOK)
	}
	if a.body.Len()+len(p) > a.limit {
		a.over = true
		a.body.Reset()
	}
	if !a.over {
		a.body.Write(p)
	}
	return len(p), nil
}

// head is the first line of a recorded answer, the body follows.
type head struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
}

// disown takes from a handler's answer what a client would take for this guard's word,
// of a guard further down: with {7,1} not applied here, that one's "duplicate" would be
// told as a success.
func (a *answer) disown() {
	for name := range a.sent {
		if key := http.CanonicalHeaderKey(name); key == RecordedHeader || key == OutcomeHeader {
			delete(a.sent, name)
		}
	}
	mediaType, _, err := mime.ParseMediaType(a.sent.Get("Content-Type"))
	if err != nil || mediaType != problemType {
		return
	}
	var p struct {
		Type string `json:"type"`
	}
	// What is encoded cannot be read here, and perhaps by the client.
	err = json.Unmarshal(a.body.Bytes(), &p)
	if a.sent.Get("Content-Encoding") != "" || err == nil && strings.HasPrefix(p.Type, typePrefix) {
		a.sent.Set("Content-Type", "application/json")
	}
}

// perHop are the headers of one connection, by RFC 9110 and what is in use.
var perHop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// part takes out what is for this client and connection alone. Recorded, a session's
// cookie would be told to whoever repeats the operation, and lie in the Door's file.
func (a *answer) part() {
	mine := append([]string{"Set-Cookie"}, perHop...)
	for name, values := range a.sent {
		if http.CanonicalHeaderKey(name) == "Connection" {
			for _, value := range values {
				for _, also := range strings.Split(value, ",") {
					mine = append(mine, http.CanonicalHeaderKey(strings.TrimSpace(also)))
				}
			}
		}
	}
	for name, values := range a.sent {
		if slices.Contains(mine, http.CanonicalHeaderKey(name)) {
			if a.once == nil {
				a.once = make(http.Header)
			}
			a.once[name] = values
			delete(a.sent, name)
		}
	}
}

// encode returns nil if it would be longer than the limit.
func (a *answer) encode() []byte {
	a.WriteHeader(http.StatusOK) // if the handler did not say anything
	a.disown()
	a.part()
	text, err := json.Marshal(head{a.status, a.sent})
	if err != nil || a.over || len(text)+1+a.body.Len() > a.limit {
		a.over = true
		return nil
	}
	return append(append(text, '\n'), a.body.Bytes()...)
}

// sendFirst is send for whoever the answer was made for.
func (a *answer) sendFirst(w http.ResponseWriter, text []byte, outcome string) bool {
	w.Header().Set(OutcomeHeader, outcome)
	for name, values := range a.once {
		w.Header()[name] = values
	}
	return send(w, text, "")
}

// send is the way back from encode. It reports false if text is none of its making.
func send(w http.ResponseWriter, text []byte, recorded string) bool {
	line, body, found := bytes.Cut(text, []byte("\n"))
	var h head
	if !found || json.Unmarshal(line, &h) != nil || h.Status < 200 || h.Status > 999 {
		return false
	}
	for name, values := range h.Header {
		w.Header()[name] = values
	}
	if recorded != "" {
		w.Header().Set(RecordedHeader, recorded)
		w.Header().Set(OutcomeHeader, "applied") // who repeats it sees what the first saw
	}
	if h.Status != http.StatusNoContent && h.Status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(h.Status)
	if len(body) > 0 {
		_, _ = w.Write(body) // it is recorded: who did not get it asks again
	}
	return true
}
