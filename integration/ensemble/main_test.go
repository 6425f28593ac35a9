package ensemble_test

import (
	"os"
	"testing"

	"github.com/zkfence/zkfence/integration/internal/lend"
)

var shared lend.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
