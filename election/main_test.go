package election_test

import (
	"testing"

	"github.com/zkfence/zkfence/internal/stage"
)

func TestMain(m *testing.M) { stage.Main(m) }
