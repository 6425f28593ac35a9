package session

import (
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// hostPort completes one server with the default port. What people paste from
// other clients' settings is refused with a word on how it is said here.
func hostPort(s string) (string, error) {
	switch {
	case s == "":
		return "", errors.New("not a host:port: it is empty")
	case strings.TrimSpace(s) != s:
		return "", errors.New("not a host:port: blanks before or after it")
	case strings.Contains(s, ","):
		return "", errors.New("not a host:port: one server per element")
	case strings.Contains(s, "://"):
		return "", errors.New("not a host:port: host:port without a scheme")
	case strings.Contains(s, "/"):
		return "", errors.New("not a host:port: no chroot here; use WithRoot")
	case strings.ContainsAny(s, " \t\r\n"):
		return "", errors.New("not a host:port: blanks inside it")
	}
	if !strings.Contains(s, ":") {
		return net.JoinHostPort(s, strconv.Itoa(zk.DefaultPort)), nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(port); host == "" || err != nil || n < 1 || n > 65535 {
		return "", errors.New("not a host and a port between 1 and 65535")
	}
	return net.JoinHostPort(host, port), nil
}
