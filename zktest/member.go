package zktest

type member struct{}
