package s3

import (
	"crypto/hmac"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is S3 in memory: one bucket, conditions, signatures, and faults.
type server struct {
	*httptest.Server
	t       testing.TB
	mu      sync.Mutex
	objects map[string][]byte
	deaf    string                      // a condition that it ignores
	fault   func(r *http.Request) fault // nil: none
	token   string                      // session token that it wants
	page    int                         // keys in an answer to a list
	raw     bool                        // it knows no encoding-type
}

type fault int

const (
	none fault = iota
	dropRequest
	dropReply
	failAfter // 500, and it is done
	failBefore
	throttle
	conflict // 409 ConditionalRequestConflict
)

const accessKey, secretKey, region, bucket = "AKIDEXAMPLE", "secret+/x", "eu-test-1", "reports"

func newServer(t testing.TB) *server {
	s := &server{t: t, objects: map[string][]byte{}, page: 1000}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// suffer sets the fault and the session token wanted, between requests.
func (s *server) suffer(f func(*http.Request) fault, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.token = f, token
}

func (s *server) config() Config {
	return Config{Endpoint: s.URL, Bucket: bucket, Region: region, Prefix: "fenced/", Credentials: Static(accessKey, secretKey), Client: s.Client()}
}

// etag of S3: a hash of the value, so that equal values have equal versions.
func etag(b []byte) string {
	sum := md5.Sum(b)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>as told</Message></Error>`, code)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	what := none
	s.mu.Lock()
	why := s.unsigned(r, body)
	if s.fault != nil && why == "" {
		what = s.fault(r)
	}
	s.mu.Unlock()
	if why != "" {
		refuse(w, http.StatusForbidden, why)
		return
	}
	switch what {
	case dropRequest:
		panic(http.ErrAbortHandler)
	case failBefore:
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	case throttle:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case conflict:
		refuse(w, http.StatusConflict, "ConditionalRequestConflict")
		return
	}
	recorder := httptest.NewRecorder()
	s.serve(recorder, r, body)
	switch what {
	case dropReply:
		panic(http.ErrAbortHandler)
	case failAfter:
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	}
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

func (s *server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	uri, _, _ := strings.Cut(r.RequestURI, "?")
	path, err := url.PathUnescape(strings.TrimPrefix(uri, "/"))
	name, key, ok := strings.Cut(path, "/")
	if q := r.URL.Query(); err == nil && name == bucket && key == "" && r.Method == http.MethodGet && q.Get("list-type") == "2" {
		s.list(w, q)
		return
	}
	if err != nil || !ok || name != bucket {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	if len(key) > 1024 {
		refuse(w, http.StatusBadRequest, "KeyTooLongError")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, there := s.objects[key]
	match, noneMatch := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch r.Method {
	case http.MethodGet:
		if !there {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", etag(value))
		_, _ = w.Write(value)
	case http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPut:
		switch {
		case noneMatch == "*" && there && s.deaf != "If-None-Match", match != "" && there && match != etag(value) && s.deaf != "If-Match":
			refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		case match != "" && !there && s.deaf != "If-Match":
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		s.objects[key] = body
		w.Header().Set("ETag", etag(body))
		w.WriteHeader(http.StatusOK)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// list answers a ListObjectsV2. It goes on where the token, the last key, says.
func (s *server) list(w http.ResponseWriter, q url.Values) {
	type content struct{ Key, LastModified string }
	type result struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		EncodingType          string   `xml:",omitempty"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []content
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var answer result
	last := ""
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, q.Get("prefix")) || key <= q.Get("continuation-token") {
			continue
		}
		if len(answer.Contents) == s.page {
			answer.IsTruncated, answer.NextContinuationToken = true, last
			break
		}
		last = key
		if !s.raw {
			answer.EncodingType, key = q.Get("encoding-type"), url.QueryEscape(key)
		}
		answer.Contents = append(answer.Contents, content{key, "2026-11-30T08:00:00.000Z"})
	}
	text, err := xml.Marshal(answer)
	if err != nil {
		s.t.Error(err)
	}
	_, _ = w.Write(text)
}

// unsigned returns why the request is refused. It works from what has arrived, as
// S3 does, and shares with the client the hash functions alone.
func (s *server) unsigned(r *http.Request, body []byte) string {
	var credential, signed, signature string
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return "AccessDenied"
	}
	for _, part := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			credential = value
		case "SignedHeaders":
			signed = value
		case "Signature":
			signature = value
		}
	}
	when, err := time.Parse(isoTime, r.Header.Get("X-Amz-Date"))
	if d := time.Since(when); err != nil || d < -15*time.Minute || d > 15*time.Minute {
		return "RequestTimeTooSkewed"
	}
	day := when.Format("20060102")
	if credential != accessKey+"/"+day+"/"+region+"/s3/aws4_request" {
		return "InvalidAccessKeyId"
	}
	if r.Header.Get("X-Amz-Content-Sha256") != sha(body) {
		return "XAmzContentSHA256Mismatch"
	}
	if r.Header.Get("X-Amz-Security-Token") != s.token {
		return "InvalidToken"
	}
	for name := range r.Header {
		name = strings.ToLower(name)
		must := strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "if-")
		if must && !strings.Contains(";"+signed+";", ";"+name+";") {
			return "AccessDenied" // the condition could be taken off on the way
		}
	}
	uri, query, _ := strings.Cut(r.RequestURI, "?")
	path, err := url.PathUnescape(uri)
	if err != nil {
		return "InvalidURI"
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return "InvalidURI"
	}
	// Whatever spelling has come, one is signed.
	canonical := strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(path))
	text := r.Method + "\n" + canonical + "\n" + strings.ReplaceAll(parameters.Encode(), "+", "%20") + "\n"
	for _, name := range strings.Split(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		text += name + ":" + value + "\n"
	}
	text += "\n" + signed + "\n" + sha(body)
	text = "AWS4-HMAC-SHA256\n" + when.Format(isoTime) + "\n" + day + "/" + region + "/s3/aws4_request\n" + sha([]byte(text))
	key := mac(mac(mac(mac([]byte("AWS4"+secretKey), day), region), "s3"), "aws4_request")
	if !hmac.Equal([]byte(signature), []byte(hex.EncodeToString(mac(key, text)))) {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func (s *server) open(c Config) *Store {
	s.t.Helper()
	store, err := Open(s.t.Context(), c)
	require.NoError(s.t, err)
	return store
}
