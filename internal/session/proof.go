package session

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

// maxNamed is how many held nodes one proof of the keeper names.
const maxNamed = 16

// Prove asks a majority whether node exists: nil, or zk.ErrNoNode. Either answer
// is a quorum proof of the session; so is a refusal to read it (zk.ErrNoAuth).
func (s *Session) Prove(ctx context.Context, node string) error {
	_, err := Await(ctx, s, s.StartProof(node))
	return err
}

// StartProof is Prove for whoever has more to ask in the same flight.
func (s *Session) StartProof(node string) *Pending[struct{}] {
	return Start(s, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Multi(&zk.CheckVersionRequest{Path: node, Version: -1})
		return struct{}{}, err
	})
}

// keeperProof is run by the monitor, one at a time.
func (s *Session) keeperProof(claims []*Claim) {
	ops := make([]any, 0, len(claims)+1)
	for _, c := range claims {
		ops = append(ops, &zk.CheckVersionRequest{Path: c.node, Version: -1})
	}
	if len(ops) == 0 {
		ops = append(ops, &zk.CheckVersionRequest{Path: "/", Version: -1})
	}
	Start(s, func(c *zk.Conn) (struct{}, error) {
		results, err := c.Multi(ops...)
		s.keeperAnswered(claims, results, err)
		return struct{}{}, nil
	})
}

// keeperAnswered finds the claim whose node is gone. Only the first of them is
// named by the answer: the operations after it all say that they were not tried.
func (s *Session) keeperAnswered(claims []*Claim, results []zk.MultiResponse, err error) {
	var gone *Claim
	if errors.Is(err, zk.ErrNoNode) {
		for i, r := range results {
			if r.Error != nil {
				if i < len(claims) {
					gone = claims[i]
				}
				break
			}
		}
	}
	s.mu.Lock()
	s.keeperBusy = false
	if gone != nil {
		s.drop(gone)
	}
	s.mu.Unlock()
	if gone != nil {
		s.log.Info("held node is gone", zap.String("node", gone.node))
		gone.tell(NodeGone)
	}
	s.wakeMonitor()
}
