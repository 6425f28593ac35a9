//go:build !unix

package filefence

const childEnv = "FILEFENCE_TEST_CHILD"

func child() int { return 1 }
