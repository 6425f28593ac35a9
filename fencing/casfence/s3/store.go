package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zkfence/zkfence/fencing/casfence"
)

// Config says where the bucket is.
type Config struct {
	Endpoint string // "https://s3.eu-central-1.amazonaws.com"; the bucket stands in the path
	Bucket   string
	Region   string // "eu-central-1"; of servers without regions mostly "us-east-1"

	// Prefix stands before every key; "" or ending in "/". Guards share what they
	// protect when endpoint, bucket and prefix are the same.
	Prefix string

	// Credentials is called for each request, so that they can change. It must be
	// quick, and safe for concurrent use. See Static.
	Credentials func(ctx context.Context) (Credentials, error)

	// Client sends the requests. Redirects are not followed: a signature is for one
	// host. Defaults to one that gives up after 30 s.
	Client *http.Client
}

// Static are Credentials that do not change.
func Static(accessKey, secretKey string) func(context.Context) (Credentials, error) {
	return func(context.Context) (Credentials, error) {
		return Credentials{AccessKey: accessKey, SecretKey: secretKey}, nil
	}
}

// Store is a casfence.SweepStore in a bucket. Versions are ETags.
type Store struct {
	config Config
	base   *url.URL
	client *http.Client
}

// Open returns the store, once it has seen by an object of its own, "probe/…", that
// the server keeps its conditions; it removes that one if it may.
func Open(ctx context.Context, c Config) (*Store, error) {
	base, err := url.Parse(c.Endpoint)
	switch {
	case err != nil:
		return nil, fmt.Errorf("s3: endpoint: %w", err)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "", strings.Trim(base.Path, "/") != "", base.RawQuery != "":
		return nil, fmt.Errorf("s3: endpoint %q: want http or https and a host, as in https://s3.eu-central-1.amazonaws.com", c.Endpoint)
	case c.Bucket == "" || strings.Contains(c.Bucket, "/"):
		return nil, fmt.Errorf("s3: bucket %q: want a bucket's name", c.Bucket)
	case c.Region == "":
		return nil, errors.New("s3: region is empty; servers without regions mostly take us-east-1")
	case c.Credentials == nil:
		return nil, errors.New("s3: credentials are missing")
	case c.Prefix != "" && (!strings.HasSuffix(c.Prefix, "/") || strings.HasPrefix(c.Prefix, "/")):
		return nil, fmt.Errorf("s3: prefix %q: want none, or one that ends in / and does not begin with it", c.Prefix)
	}
	s := &Store{config: c, base: base, client: &http.Client{Timeout: 30 * time.Second}}
	if c.Client != nil {
		own := *c.Client
		s.client = &own
	}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// probe tries each of the conditions that must keep a write away.
func (s *Store) probe(ctx context.Context) error {
	key := "probe/" + rand.Text()
	first, err := s.Put(ctx, key, []byte("1"), "")
	if err != nil {
		return fmt.Errorf("s3: try whether the server keeps conditions: %w", err)
	}
	defer func() { _ = s.Delete(ctx, key) }()
	second, err := s.Put(ctx, key, []byte("2"), first)
	if err != nil {
		return fmt.Errorf("s3: try whether the server keeps conditions: If-Match with the right ETag: %w", err)
	}
	for version, header := range map[string]string{"": "If-None-Match", first: "If-Match"} {
		if _, err := s.Put(ctx, key, []byte("3"), version); err == nil {
			return fmt.Errorf("s3: this server ignores %s: every writer would win; nothing can be fenced on it", header)
		} else if !errors.Is(err, casfence.ErrConflict) {
			return fmt.Errorf("s3: try whether the server keeps conditions: %s: %w", header, err)
		}
	}
	value, version, err := s.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("s3: try whether the server reads what was written: %w", err)
	}
	if version != second || string(value) != "2" {
		return fmt.Errorf("s3: this server does not read what was written: got %q with ETag %s, want \"2\" with %s", value, version, second)
	}
	if _, _, err := s.Get(ctx, key+"-missing"); err != nil {
		return fmt.Errorf("s3: try what the server says of a missing key (s3:ListBucket is needed): %w", err)
	}
	return nil
}

// Get implements casfence.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, version string, err error) {
	r, err := s.send(ctx, http.MethodGet, key, nil, nil)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusOK {
		e := failure(r)
		if r.StatusCode == http.StatusNotFound && e.Code == "NoSuchKey" {
			return nil, "", nil
		}
		return nil, "", fmt.Errorf("s3: GET %s: %w", key, e)
	}
	if value, err = io.ReadAll(r.Body); err != nil {
		return nil, "", fmt.Errorf("s3: GET %s: %w", key, err)
	}
	if version = r.Header.Get("ETag"); version == "" {
		return nil, "", fmt.Errorf("s3: GET %s: the answer has no ETag", key)
	}
	return value, version, nil
}

// Put implements casfence.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, version string) (newVersion string, err error) {
	condition := http.Header{"If-Match": {version}}
	if version == "" {
		condition = http.Header{"If-None-Match": {"*"}}
	}
	r, err := s.send(ctx, http.MethodPut, key, condition, value)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode == http.StatusOK {
		// Without it the answer is as good as lost.
		if newVersion = r.Header.Get("ETag"); newVersion == "" {
			return "", fmt.Errorf("s3: PUT %s: the answer has no ETag", key)
		}
		return newVersion, nil
	}
	e := failure(r)
	switch {
	case r.StatusCode == http.StatusPreconditionFailed,
		r.StatusCode == http.StatusNotFound && e.Code == "NoSuchKey": // If-Match, and nothing there
		return "", fmt.Errorf("%w: s3: PUT %s: %w", casfence.ErrConflict, key, e)
	case r.StatusCode == http.StatusConflict && e.Code == "ConditionalRequestConflict":
		// Another write is being decided: nothing is known of the version yet.
	case r.StatusCode >= 300 && r.StatusCode < 500 && r.StatusCode != http.StatusRequestTimeout:
		return "", fmt.Errorf("%w: s3: PUT %s: %w", casfence.ErrNotWritten, key, e)
	}
	return "", fmt.Errorf("s3: PUT %s: %w", key, e)
}

// send sends one request about a key, once.
func (s *Store) send(ctx context.Context, method, key string, headers http.Header, body []byte) (*http.Response, error) {
	return s.ask(ctx, method, "/"+s.config.Bucket+"/"+s.config.Prefix+key, "", headers, body)
}

// ask sends one request, once. query is sorted and escaped as it is signed.
func (s *Store) ask(ctx context.Context, method, path, query string, headers http.Header, body []byte) (*http.Response, error) {
	c, err := s.config.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: s3: credentials: %w", casfence.ErrNotWritten, err)
	}
	u := *s.base
	u.Path, u.RawPath, u.RawQuery = path, escape(path), query
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: s3: %w", casfence.ErrNotWritten, err)
	}
	for name, values := range headers {
		r.Header[name] = values
	}
	sign(r, body, c, s.config.Region, time.Now())
	// What comes must be what was stored. Not signed: proxies change this one.
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := s.client.Do(r)
	if err != nil && ctx.Err() != nil {
		// net/http answers with the cause, which can be the server's word on another
		// request: as "not written" of this one, which is under way.
		return nil, fmt.Errorf("s3: %w: %s", ctx.Err(), err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	return answer, nil
}

// Error is what the server answered in place of success.
type Error struct {
	Status  int    `xml:"-"`
	Code    string // S3's word for it, "AccessDenied"; empty if the answer was none of S3's
	Message string
}

// Error implements error.
func (e *Error) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s %s", e.Status, e.Code, e.Message))
}

func failure(r *http.Response) *Error {
	e := new(Error)
	text, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err == nil {
		err = xml.Unmarshal(text, e)
	}
	if err != nil { // of a proxy, perhaps
		e = &Error{Message: fmt.Sprintf("%.200q", text)}
	}
	e.Status = r.StatusCode
	return e
}
