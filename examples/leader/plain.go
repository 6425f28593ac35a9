package main

import (
	"fmt"
	"time"
)

// tell is what stands for the table where there is no terminal: once a second
// one line of the timeline, if there is news. It returns what ends that.
func (p *play) tell() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for before := ""; ; {
			select {
			case now := <-every.C:
				token, text := summary(p.troupe.picture(now))
				if text != before {
					p.tl.Line("ledger", token, "", text)
				}
				before = text
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

func summary(p picture) (token, text string) {
	if !p.known.Token.IsZero() {
		token = p.known.Token.String()
	}
	text = fmt.Sprintf("%d accepted, %d refused", p.accepted, p.refused)
	for _, r := range p.rows {
		if r.paused == "" {
			continue
		}
		text += fmt.Sprintf("; %s is %s", r.name, r.paused)
		if r.announced {
			text += fmt.Sprintf(", its trust %s", left(r.trust))
		}
	}
	return token, text
}

func left(trust time.Duration) string {
	if trust <= 0 {
		return "over"
	}
	return fmt.Sprintf("%.1fs", trust.Seconds())
}
