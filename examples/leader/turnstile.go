package main

import "sync"

// turnstile lets the leader pass between its check and its command, until it is
// told to stand there. It stands for a process that does not run, and so heeds
// no context; the end of the parent opens it.
type turnstile struct {
	mu   sync.Mutex
	bars chan struct{} // while shut; closed when it opens
}

func (s *turnstile) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bars == nil {
		s.bars = make(chan struct{})
	}
}

func (s *turnstile) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bars != nil {
		close(s.bars)
		s.bars = nil
	}
}

// wait is what to wait for; nil: nothing.
func (s *turnstile) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bars
}
