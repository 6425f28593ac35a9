package ensemble

import (
	"context"
	"fmt"
)

// Depose makes others elect a leader while the old one does not notice, and
// returns the old one. It cuts the leader's quorum links, and restarts the other
// servers, which have then lost it, whereas it takes SyncTime to find out that it
// has. Until then it answers its clients' reads, pings, Syncs and handshakes, and
// commits nothing. Clients of the other servers lose their connections.
//
// Depose returns once the successor leads. It is an error if the old leader has
// noticed by then: servers take seconds to start, so SyncTime must be longer, ten
// seconds on a quiet machine, with WithSyncLimit. It needs three servers or more,
// none of them broken. HealQuorum of the old leader takes it back.
func (e *Ensemble) Depose(ctx context.Context) (*Server, error) {
	old, err := e.Leader(ctx)
	if err != nil {
		return nil, err
	}
	var others []*Server
	for _, s := range e.servers {
		if s != old {
			others = append(others, s)
		}
	}
	if len(others) < 2 {
		return nil, fmt.Errorf("ensemble: depose: %d servers have no majority without their leader", len(e.servers))
	}
	if err := old.CutQuorum(ctx); err != nil {
		return nil, err
	}
	restart := func(s *Server) error {
		if err := s.Kill(ctx); err != nil {
			return err
		}
		return s.Start(ctx)
	}
	if err := each(others, restart); err != nil {
		return nil, err
	}
	if err := e.Await(ctx); err != nil {
		return nil, err
	}
	st, err := old.Status(ctx)
	if err == nil && st.Mode != "leader" {
		err = fmt.Errorf("ensemble: depose: the old leader has noticed, SyncTime is only %v", e.SyncTime())
	}
	if err != nil {
		return nil, err
	}
	return old, nil
}
