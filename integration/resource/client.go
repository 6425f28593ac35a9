package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/zkfence/zkfence/integration/history"
)

// Client is a worker's side of a Store.
type Client struct {
	url  string
	http http.Client
}

// NewClient returns a Client of the Store at that URL.
func NewClient(url string) *Client { return &Client{url: url} }

// Do sends a command. After an error it is unknown what became of it.
func (c *Client) Do(ctx context.Context, command history.Command) (history.Answer, error) {
	body, err := json.Marshal(command)
	if err != nil {
		return history.Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return history.Answer{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return history.Answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return history.Answer{}, fmt.Errorf("resource: %s", resp.Status)
	}
	var a history.Answer
	err = json.NewDecoder(resp.Body).Decode(&a)
	return a, err
}
