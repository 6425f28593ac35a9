package ensemble

import (
	"context"
	"errors"
	"strconv"
)

// dataDir is where both images keep what a server stores.
const dataDir = "/data"

var errRuns = errors.New("it is not stopped")

// SetEpoch makes the server, which must be stopped, begin with that epoch at least,
// as an operator does who raises a rebuilt ensemble above an old one: it writes the
// files acceptedEpoch and currentEpoch. Do it to all servers before any starts. The
// first leader's epoch is a larger one.
func (s *Server) SetEpoch(ctx context.Context, epoch uint32) error {
	return s.did("set epoch of", s.setEpoch(ctx, epoch), func(*Server) {})
}

func (s *Server) setEpoch(ctx context.Context, epoch uint32) error {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if !down {
		return errRuns
	}
	text := strconv.FormatUint(uint64(epoch), 10)
	return s.put(ctx, dataDir, map[string]string{"version-2/acceptedEpoch": text, "version-2/currentEpoch": text})
}
