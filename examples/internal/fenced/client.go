package fenced

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Client is an owner's way to a protected resource.
type Client struct {
	http   *http.Client
	url    string
	secret string
}

// NewClient returns a Client of the resource at url.
func NewClient(url, secret string) *Client {
	// A connection kept alive may be closed while we are stopped, and a late
	// command would fail on it before the resource could refuse it.
	fresh := &http.Transport{DisableKeepAlives: true}
	return &Client{http: &http.Client{Transport: fresh, Timeout: 10 * time.Second}, url: url, secret: secret}
}

// Raise tells the resource whose turn it is.
func (c *Client) Raise(ctx context.Context, t fencing.Token) error {
	_, _, err := c.do(ctx, http.MethodPost, http.Header{TokenHeader: {t.String()}}, nil)
	return err
}

// Get reads the resource, and the Stamp that it remembers.
func (c *Client) Get(ctx context.Context) (body []byte, last fencing.Stamp, err error) {
	return c.do(ctx, http.MethodGet, http.Header{}, nil)
}

// Put sends a command. The error of a refusal is a *fencing.StaleError, as if the
// gate were in this process.
func (c *Client) Put(ctx context.Context, s fencing.Stamp, body []byte) error {
	_, _, err := c.do(ctx, http.MethodPut, http.Header{StampHeader: {s.String()}}, body)
	return err
}

func (c *Client) do(ctx context.Context, method string, header http.Header, body []byte) ([]byte, fencing.Stamp, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, fencing.Stamp{}, err
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+c.secret)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fencing.Stamp{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	if err != nil {
		return nil, fencing.Stamp{}, fmt.Errorf("%s %s: %w", method, c.url, err)
	}
	if resp.StatusCode >= 300 {
		return nil, fencing.Stamp{}, refused(resp.Status, answer)
	}
	last, err := fencing.ParseStamp(resp.Header.Get(StampHeader))
	return answer, last, err
}

func refused(status string, answer []byte) error {
	var r refusal
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("%s: %.200q", status, answer)
	}
	if r.Presented != nil && r.Highest != nil {
		return fmt.Errorf("%s: %w", status, &fencing.StaleError{Resource: r.Resource, Presented: *r.Presented, Highest: *r.Highest})
	}
	return fmt.Errorf("%s: %s", status, r.Error)
}
