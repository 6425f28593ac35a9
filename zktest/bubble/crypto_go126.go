//go:build go1.26

package bubble

import (
	"testing"
	"testing/cryptotest"
)

func seedCrypto(t *testing.T, seed uint64) { cryptotest.SetGlobalRandom(t, seed) }
