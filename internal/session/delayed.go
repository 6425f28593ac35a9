package session

import (
	"time"

	"go.uber.org/zap"
)

// warnOfDelay says that a session which has yet to stand has been refused by the
// whole list of servers: an outage in which every wait only waits would otherwise
// show in no log. It says so once per timeout, however fast the rounds go by.
func (s *Session) warnOfDelay(timeout time.Duration) {
	now := s.now()
	s.mu.Lock()
	opening := s.reason == 0 && s.conns == 0
	s.mu.Unlock()
	if !opening || s.servers.rounds() == 0 || s.warnedAt > 0 && now-s.warnedAt < timeout {
		return
	}
	s.warnedAt = max(now, 1)
	s.log.Warn("no session yet: no server has answered", zap.String("servers", s.servers.report()))
}
