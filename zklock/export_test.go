package zklock

// MissABlip makes h look like one whose session turned suspect and well again
// before any goroutine of ours had run.
func (h *Hold) MissABlip() { h.suspicions -= 2 }
