package zktest

import (
	"crypto/sha1"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// Permissions in an acl.
const (
	permRead   int32 = 1
	permWrite  int32 = 2
	permCreate int32 = 4
	permDelete int32 = 8
	permAdmin  int32 = 16
	permAll    int32 = 31
)

// allowed reports whether one of ids has one of the permissions in perm.
func allowed(list []acl, perm int32, ids []id) bool {
	if len(list) == 0 || slices.ContainsFunc(ids, func(i id) bool { return i.scheme == "super" }) {
		return true
	}
	for _, a := range list {
		if a.perms&perm == 0 {
			continue
		}
		if a.id == (id{"world", "anyone"}) {
			return true
		}
		for _, who := range ids {
			if who.scheme == a.scheme && matchesID(who, a.name) {
				return true
			}
		}
	}
	return false
}

func matchesID(who id, name string) bool {
	switch who.scheme {
	case "digest":
		return who.name == name
	case "ip":
		network, mask, ok := ipNetwork(name)
		addr, isV4 := ipAddress(who.name)
		return ok && isV4 && addr&mask == network&mask
	}
	return false
}

// ipNetwork reads the name of an ip acl: an IPv4 address, or one and how many of
// its bits count. ZooKeeper knows no others.
func ipNetwork(name string) (addr, mask uint32, ok bool) {
	host, length, hasLength := strings.Cut(name, "/")
	addr, ok = ipAddress(host)
	bits := 32
	if hasLength {
		var err error
		if bits, err = strconv.Atoi(length); err != nil || bits < 0 || bits > 32 {
			return 0, 0, false
		}
	}
	return addr, uint32(math.MaxUint32 << (32 - bits)), ok
}

func ipAddress(s string) (addr uint32, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return 0, false
	}
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 255 {
			return 0, false
		}
		addr = addr<<8 | uint32(n)
	}
	return addr, true
}

// expand returns the acl that a node gets when a client who is ids asks for
// list: doubles go, and the scheme auth becomes whoever the client is.
func expand(list []acl, ids []id) ([]acl, Code) {
	var out []acl
	seen := make(map[acl]struct{}, len(list)) // a frame has room for 80,000
	for _, a := range list {
		if _, double := seen[a]; double {
			continue
		}
		seen[a] = struct{}{}
		switch {
		case a.id == (id{"world", "anyone"}):
			out = append(out, a)
		case a.scheme == "auth":
			n := len(out)
			for _, who := range ids {
				if who.scheme == "digest" { // an address is no authentication
					out = append(out, acl{perms: a.perms, id: who})
				}
			}
			if len(out) == n {
				return nil, wire.InvalidACL
			}
		default:
			if code := checkID(a.id); code != wire.OK {
				return nil, code
			}
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, wire.InvalidACL
	}
	return out, wire.OK
}

// checkID judges whether an acl may name an identity.
func checkID(i id) Code {
	ok := false
	switch i.scheme {
	case "world", "digest", "ip":
		if i.name == null {
			return wire.MarshallingError
		}
	}
	switch i.scheme {
	case "digest":
		ok = strings.Count(strings.TrimRight(i.name, ":"), ":") == 1
	case "ip":
		_, _, ok = ipNetwork(i.name)
	}
	if !ok {
		return wire.InvalidACL
	}
	return wire.OK
}

// authenticate returns who a client is that presents auth under a scheme.
func authenticate(scheme string, auth []byte, host string) (id, bool) {
	switch scheme {
	case "digest":
		if auth == nil {
			break
		}
		who := decoded(string(auth))
		user, _, _ := strings.Cut(who, ":")
		sum := sha1.Sum([]byte(who))
		return id{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}, true
	case "ip":
		return id{"ip", host}, true
	}
	return id{}, false
}

// masked hides what is secret in the digests of list.
func masked(list []acl) []acl {
	out := slices.Clone(list)
	for i := range out {
		if user, _, found := strings.Cut(out[i].name, ":"); found && out[i].scheme == "digest" {
			out[i].name = user + ":x"
		}
	}
	return out
}
