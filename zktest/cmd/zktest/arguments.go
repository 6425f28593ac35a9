package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// session reads a session's id as clients print it: decimal, or hexadecimal after
// 0x.
func session(text string) (int64, error) {
	if id, err := strconv.ParseUint(text, 0, 64); err == nil && id != 0 {
		return int64(id), nil
	}
	// A server's ids may be negative; Java and Python print them with their sign.
	if id, err := strconv.ParseInt(text, 0, 64); err == nil && id != 0 {
		return id, nil
	}
	return 0, fmt.Errorf("%q: no session id, which is decimal or 0x and hexadecimal", text)
}

// op reads the name of an operation or a word for several.
func op(text string) (zktest.Op, error) {
	switch text {
	case "any":
		return zktest.AnyOp, nil
	case "any-create":
		return zktest.AnyCreate, nil
	}
	o, ok := wire.OpNamed(text)
	if !ok || o == wire.OpNotify || o == wire.OpError {
		return 0, fmt.Errorf("%q: no operation; they are called as in create, getChildren2 or closeSession; any is all but ping and createSession, any-create every create", text)
	}
	return o, nil
}

// code reads an error's name, with hyphens, or its number.
func code(text string) (zktest.Code, error) {
	const least = -999
	n, err := strconv.Atoi(text)
	if err == nil && n < 0 && n >= least {
		return zktest.Code(n), nil
	}
	for c := zktest.Code(-1); c >= least; c-- {
		if strings.ReplaceAll(c.String(), " ", "-") == text {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%q: no error, which is like no-node or -101", text)
}

func times(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q: no number of times, which is 1 unless given, and -1 for always", text)
	}
	return n, nil
}

func isOn(text string) (bool, error) {
	if text != "on" && text != "off" {
		return false, fmt.Errorf("%q: must be on or off", text)
	}
	return text == "on", nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: no duration, which is like 300ms or 2s", text)
	}
	return d, nil
}
