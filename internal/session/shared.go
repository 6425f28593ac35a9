package session

import "context"

// sharedThing is what all who ask for one key on a Client have together.
type sharedThing struct {
	value  any
	users  int
	cancel context.CancelFunc
}

// Share returns what all who ask for key share; ErrClosed once Close has begun.
// The first to ask has begin make it; run goes on on a goroutine that Close waits
// for, with a context that ends when the last has released, or with the Client.
// Whoever asks once run has returned gets another: what became of the first one
// may be long ago, kept alive by a user who has not looked since. begin must not
// block, and is called under a lock: it asks nothing of the Client. release is to
// be called once.
func (c *Client) Share(key string, begin func() (value any, run func(ctx context.Context))) (value any, release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	t := c.shared[key]
	if t == nil {
		ctx, cancel := context.WithCancel(c.ctx)
		value, run := begin()
		t = &sharedThing{value: value, cancel: cancel}
		c.shared[key] = t
		c.start(func() {
			run(ctx)
			c.retire(key, t)
		})
	}
	t.users++
	return t.value, func() { c.release(key, t) }, nil
}

// release takes one user from t; each Share releases once.
func (c *Client) release(key string, t *sharedThing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.users--; t.users == 0 {
		t.cancel()
		c.unshare(key, t)
	}
}

// retire is the end of t's run.
func (c *Client) retire(key string, t *sharedThing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unshare(key, t)
}

// unshare has the next to ask for key make another. mu is held.
func (c *Client) unshare(key string, t *sharedThing) {
	if c.shared[key] == t {
		delete(c.shared, key)
	}
}
