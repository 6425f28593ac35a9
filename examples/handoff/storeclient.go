package main

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

// storeClient is a worker's way to the report.
type storeClient struct {
	http   *http.Client
	url    string
	secret string
}

func newStoreClient(url, secret string) *storeClient {
	// A connection kept alive may be closed while we are stopped, and the late
	// write would fail on it before the store could refuse it.
	fresh := &http.Transport{DisableKeepAlives: true}
	return &storeClient{http: &http.Client{Transport: fresh, Timeout: 10 * time.Second}, url: url, secret: secret}
}

// raise tells the store whose turn it is.
func (c *storeClient) raise(ctx context.Context, t fencing.Token) error {
	_, _, err := c.do(ctx, http.MethodPost, http.Header{tokenHeader: {t.String()}}, nil)
	return err
}

// get returns the report and the Stamp of the command that wrote it.
func (c *storeClient) get(ctx context.Context) (report []byte, last fencing.Stamp, err error) {
	return c.do(ctx, http.MethodGet, http.Header{}, nil)
}

// put replaces the report. The error of a refusal is a *fencing.StaleError, as if
// the gate were in this process.
func (c *storeClient) put(ctx context.Context, s fencing.Stamp, report []byte) error {
	_, _, err := c.do(ctx, http.MethodPut, http.Header{stampHeader: {s.String()}}, report)
	return err
}

func (c *storeClient) do(ctx context.Context, method string, header http.Header, body []byte) ([]byte, fencing.Stamp, error) {
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
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxReport))
	if err != nil {
		return nil, fencing.Stamp{}, fmt.Errorf("%s %s: %w", method, c.url, err)
	}
	if resp.StatusCode >= 300 {
		return nil, fencing.Stamp{}, refused(resp.Status, answer)
	}
	last, err := fencing.ParseStamp(resp.Header.Get(stampHeader))
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
