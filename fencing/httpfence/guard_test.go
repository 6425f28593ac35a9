package httpfence_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

func at(t *testing.T, token, seq uint64) fencing.Stamp {
	t.Helper()
	tok, err := fencing.FromUint64(token)
	require.NoError(t, err)
	return fencing.Stamp{Token: tok, Seq: seq}
}

// desk is a guard and what its handler has seen.
type desk struct {
	*testing.T
	door *door.Door
	http.Handler
	ran int
}

func newDesk(t *testing.T, next http.HandlerFunc) *desk {
	t.Helper()
	d := &desk{T: t}
	var err error
	d.door, err = door.New(door.Options{MaxOutcome: 1000})
	require.NoError(t, err)
	d.Handler, err = httpfence.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.ran++
		next(w, r)
	}), httpfence.Config{Door: d.door, Resource: httpfence.One("the report"), MaxBody: 20})
	require.NoError(t, err)
	return d
}

func (d *desk) send(method, body string, headers ...string) *http.Response {
	d.Helper()
	r := httptest.NewRequestWithContext(d.Context(), method, "/report", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp
}

func (d *desk) put(s fencing.Stamp, body string) *http.Response {
	d.Helper()
	return d.send(http.MethodPut, body, httpfence.StampHeader, s.String())
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(b)
}

func created(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Location", "/report/1")
	w.WriteHeader(http.StatusCreated)
	if _, err := w.Write(append([]byte("made of "), body...)); err != nil {
		panic(err)
	}
}

func TestARefusalIsAProblemWithBothStamps(t *testing.T) {
	d := newDesk(t, created)
	require.Equal(t, http.StatusCreated, d.put(at(t, 10, 3), "").StatusCode)
	for _, c := range []struct {
		stamp fencing.Stamp
		kind  string
		is    error
	}{{at(t, 9, 7), "stale", fencing.ErrStale}, {at(t, 10, 2), "superseded", fencing.ErrSuperseded}} {
		resp := d.put(c.stamp, "")
		require.Equal(t, http.StatusConflict, resp.StatusCode)
		require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
		var p map[string]any
		require.NoError(t, json.Unmarshal([]byte(text(t, resp)), &p))
		require.NotEmpty(t, p["title"])
		require.Contains(t, p["detail"], "0xa:3")
		delete(p, "title")
		delete(p, "detail")
		require.Equal(t, map[string]any{
			"type": "tag:zkfence.github.io,2026:" + c.kind, "status": 409.0,
			"resource": "the report", "presented": c.stamp.String(), "highest": "0xa:3",
		}, p)
		err := httpfence.Error(d.put(c.stamp, ""))
		require.Equal(t, &fencing.StaleError{Resource: "the report", Presented: c.stamp, Highest: at(t, 10, 3)}, err)
		require.ErrorIs(t, err, c.is)
	}
	require.Equal(t, 1, d.ran)
}

func TestARepetitionGetsTheRecordedAnswer(t *testing.T) {
	d := newDesk(t, created)
	first := d.put(at(t, 10, 1), "a")
	require.NoError(t, httpfence.Error(first))
	again := d.put(at(t, 10, 1), "a")
	require.Equal(t, first.StatusCode, again.StatusCode)
	require.Equal(t, "0xa:1", again.Header.Get(httpfence.RecordedHeader))
	again.Header.Del(httpfence.RecordedHeader)
	require.Equal(t, first.Header, again.Header)
	require.Equal(t, "made of a", text(t, first))
	require.Equal(t, "made of a", text(t, again))
	require.ErrorIs(t, httpfence.Error(d.put(at(t, 10, 1), "a")), fencing.ErrDuplicate)
	require.Equal(t, 1, d.ran)
}

// An answer is recorded before it is sent, so it has a limit.
func TestAnAnswerThatIsTooLongIsADuplicateAtOnce(t *testing.T) {
	for _, size := range []int{900, 990, 1001, 5000} {
		d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
		resp := d.put(at(t, 10, 1), "")
		if size == 900 {
			require.Equal(t, http.StatusOK, resp.StatusCode)
			continue
		}
		require.Equal(t, http.StatusConflict, resp.StatusCode, size)
		require.ErrorIs(t, httpfence.Error(resp), fencing.ErrDuplicate)
		require.ErrorIs(t, httpfence.Error(d.put(at(t, 10, 1), "")), fencing.ErrDuplicate)
		require.Equal(t, 1, d.ran)
		require.Equal(t, at(t, 10, 1), d.door.Last("the report"))
	}
}

func TestOnlyWhatTheHandlerHasAppliedCounts(t *testing.T) {
	for status, applied := range map[int]bool{200: true, 204: true, 302: true, 303: true, 301: false, 307: false, 308: false, 400: false, 409: false, 500: false, 501: false} {
		d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		for range 2 {
			require.Equal(t, status, d.put(at(t, 10, 1), "").StatusCode)
		}
		if applied {
			require.Equal(t, at(t, 10, 1), d.door.Last("the report"), status)
			require.Equal(t, 1, d.ran, status)
		} else {
			require.Equal(t, at(t, 10, 0), d.door.Last("the report"), status)
			require.Equal(t, 2, d.ran, status)
		}
	}
}

func TestBadHeadersAndBodies(t *testing.T) {
	d := newDesk(t, created)
	stamp, op, raise := httpfence.StampHeader, httpfence.OpHeader, httpfence.RaiseHeader
	for name, c := range map[string]struct {
		headers []string
		status  int
		is      error
	}{
		"None":           {nil, http.StatusPreconditionRequired, httpfence.ErrNoStamp},
		"Empty":          {[]string{stamp, ""}, 400, httpfence.ErrBadStamp},
		"NoSeq":          {[]string{stamp, "0xa"}, 400, httpfence.ErrBadStamp},
		"Decimal":        {[]string{stamp, "10:1"}, 400, httpfence.ErrBadStamp},
		"Negative":       {[]string{stamp, "-0xa:1"}, 400, httpfence.ErrBadStamp},
		"TooLarge":       {[]string{stamp, "0x8000000000000000:1"}, 400, httpfence.ErrBadStamp},
		"Text":           {[]string{stamp, "mine"}, 400, httpfence.ErrBadStamp},
		"Two":            {[]string{stamp, "0xa:1", stamp, "0xb:1"}, 400, httpfence.ErrBadStamp},
		"ZeroToken":      {[]string{stamp, "0x0:1"}, 400, fencing.ErrZeroToken},
		"ZeroSeq":        {[]string{stamp, "0xa:0"}, 400, fencing.ErrZeroSeq},
		"EmptyOp":        {[]string{stamp, "0xa:1", op, ""}, 400, fencing.ErrBadOpID},
		"OpNotEncoded":   {[]string{stamp, "0xa:1", op, "%zz"}, 400, fencing.ErrBadOpID},
		"OpWithControls": {[]string{stamp, "0xa:1", op, "a%00"}, 400, fencing.ErrBadOpID},
		"TwoOps":         {[]string{stamp, "0xa:1", op, "a", op, "b"}, 400, fencing.ErrBadOpID},
		"RaiseOfNothing": {[]string{raise, ""}, 400, httpfence.ErrBadStamp},
		"RaiseToZero":    {[]string{raise, "0x0"}, 400, fencing.ErrZeroToken},
		"RaiseOfAStamp":  {[]string{raise, "0xa:1"}, 400, httpfence.ErrBadStamp},
		"TwoRaises":      {[]string{raise, "0xa", raise, "0xb"}, 400, httpfence.ErrBadStamp},
		"Upgrade":        {[]string{stamp, "0xa:1", "Upgrade", "websocket"}, http.StatusNotImplemented, httpfence.ErrNotRun},
	} {
		t.Run(name, func(t *testing.T) {
			resp := d.send(http.MethodPost, "body", c.headers...)
			require.Equal(t, c.status, resp.StatusCode)
			require.ErrorIs(t, httpfence.Error(resp), c.is)
		})
	}
	resp := d.send(http.MethodPut, strings.Repeat("x", 21), stamp, "0xa:1")
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	require.ErrorIs(t, httpfence.Error(resp), httpfence.ErrNotRun)
	require.Equal(t, http.StatusNotImplemented, d.send(http.MethodGet, "", "Upgrade", "websocket").StatusCode, "a read that would turn into writes")
	require.Zero(t, d.ran)
	require.Equal(t, at(t, 10, 0), d.door.Last("the report"), "raised by the one with Seq 0 alone")

	errNobody := errors.New("nobody knows this path")
	h, err := httpfence.Guard(http.NotFoundHandler(), httpfence.Config{Door: d.door, Resource: func(*http.Request) (string, error) { return "", errNobody }})
	require.NoError(t, err)
	d.Handler = h
	resp = d.put(at(t, 10, 1), "")
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.ErrorContains(t, httpfence.Error(resp), errNobody.Error())
}

func TestReadsPass(t *testing.T) {
	d := newDesk(t, created)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
		require.Equal(t, http.StatusCreated, d.send(method, "").StatusCode, method)
	}
	require.Equal(t, 3, d.ran)
	require.Equal(t, fencing.Stamp{}, d.door.Last("the report"))
}

func TestTheHandlerKnowsTheStamp(t *testing.T) {
	d := newDesk(t, func(w http.ResponseWriter, r *http.Request) {
		s, ok := fencing.StampFromContext(r.Context())
		if !ok {
			http.Error(w, "none", http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, s.String())
	})
	require.Equal(t, "0xa:1", text(t, d.put(at(t, 10, 1), "")))
}

// Nobody knows what a handler had done before it panicked.
func TestAPanicIsAnUnknownOutcome(t *testing.T) {
	d := newDesk(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	post := func() *http.Response { return d.send(http.MethodPost, "", httpfence.StampHeader, "0xa:1") }
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { post() })
	resp := post()
	require.Equal(t, http.StatusBadGateway, resp.StatusCode)
	require.ErrorIs(t, httpfence.Error(resp), fencing.ErrUnknownOutcome)
	require.Equal(t, 1, d.ran)
}

// Whoever reaches the guard can present the largest Token there is.
func TestOneForgedTokenLocksEverybodyOutSoAuthenticationComesFirst(t *testing.T) {
	d := newDesk(t, created)
	open := d.Handler
	d.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); !ok || password != "open sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, r)
	})
	forged := at(t, 1<<63-1, 1)
	mine := func(s fencing.Stamp) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/report", nil)
		r.SetBasicAuth("me", "open sesame")
		r.Header.Set(httpfence.StampHeader, s.String())
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusUnauthorized, d.put(forged, "").StatusCode)
	require.Equal(t, http.StatusUnauthorized, d.send(http.MethodPost, "", httpfence.RaiseHeader, forged.Token.String()).StatusCode)
	require.Equal(t, http.StatusCreated, mine(at(t, 10, 1)))

	// The other way round: the guard outside.
	auth := d.Handler
	d.Handler = open
	require.Equal(t, http.StatusCreated, d.put(forged, "").StatusCode)
	d.Handler = auth
	require.Equal(t, http.StatusConflict, mine(at(t, 10, 2)))
	require.NoError(t, d.door.Override(t.Context(), "the report", at(t, 10, 1), "Ada", "a forged token"))
	require.Equal(t, http.StatusCreated, mine(at(t, 10, 2)))
	require.Len(t, d.door.Overrides("the report"), 1)
}

func TestBadConfigs(t *testing.T) {
	d := newDesk(t, created)
	good := httpfence.Config{Door: d.door, Resource: httpfence.One("r")}
	for want, spoil := range map[string]func(*httpfence.Config){
		"Config.Door is nil":     func(c *httpfence.Config) { c.Door = nil },
		"Config.Resource is nil": func(c *httpfence.Config) { c.Resource = nil },
		"Config.MaxBody = -1":    func(c *httpfence.Config) { c.MaxBody = -1 },
	} {
		bad := good
		spoil(&bad)
		_, err := httpfence.Guard(http.NotFoundHandler(), bad)
		require.ErrorContains(t, err, want)
	}
	_, err := httpfence.Guard(nil, good)
	require.ErrorContains(t, err, "handler is nil")
}
