package fencetest_test

import (
	"context"

	"github.com/zkfence/zkfence/fencing/fencetest"
)

// bare hides what its guards can do besides.
type bare struct{ *memory }

func (b bare) Open(ctx context.Context) (fencetest.Guard, error) {
	g, err := b.memory.Open(ctx)
	return struct{ fencetest.Guard }{g}, err
}
