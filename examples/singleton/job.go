package main

import (
	"context"
	"log"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// job stands for yours. That the term was good a moment ago protects nothing: send
// the stamp with the command, and have whoever gets it refuse what fencing.Check
// refuses. A retry sends the same stamp again.
func job(ctx context.Context, stamp fencing.Stamp) error {
	log.Printf("the job is done, with stamp %v", stamp)
	select { // the next one, in a second
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	return nil
}

// loss waits for the word that the term is over. If it does not come within a
// session timeout, what refused the job remembers a token that this ensemble has
// not given, and no term will get past it.
func loss(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(sessionTimeout):
	}
}
