package fencetest

func twoGuards(s *scene) {
	a, b := s.guard(), s.guard()
	m := s.model()
	m.send(a, 10, 1)
	m.send(b, 10, 1)
	m.send(b, 20, 1)
	m.send(a, 10, 2)
	m.compare(a)
	m.raise(a, 30)
	m.send(b, 20, 2)
	m.send(b, 30, 1)
	m.send(a, 30, 1)
	m.compare(a)
	m.compare(b)
}

func restartGuard(s *scene) {
	restarts(s, func() {})
}

func restartStore(s *scene) {
	r, ok := s.store.(Restarter)
	if !ok {
		s.Logf("fencetest: not judged: the store is no Restarter")
		return
	}
	restarts(s, func() {
		s.Helper()
		ctx, cancel := s.bounded()
		defer cancel()
		if err := r.Restart(ctx); err != nil {
			s.Fatalf("Restart: %v", err)
		}
	})
}

// restarts plays a restart after each kind of thing that must be remembered.
func restarts(s *scene, restart func()) {
	m := s.model()
	steps := []func(Guard){
		func(g Guard) { m.send(g, 10, 1) },
		func(g Guard) { m.send(g, 10, 1) },
		func(g Guard) { m.raise(g, 20) },
		func(g Guard) { m.send(g, 10, 2) },
		func(g Guard) { m.send(g, 20, 4) },
		func(g Guard) { m.send(g, 20, 3) },
		func(g Guard) {
			if failing(s.subject) {
				m.fail(g, 30, 1)
			} else {
				m.raise(g, 30)
			}
		},
		func(g Guard) { m.send(g, 20, 5) },
		func(g Guard) { m.send(g, 30, 1) },
	}
	for _, step := range steps {
		g, closeIt := s.open()
		step(g)
		m.compare(g)
		closeIt()
		restart()
		if s.Failed() {
			return
		}
	}
	m.compare(s.guard())
}
