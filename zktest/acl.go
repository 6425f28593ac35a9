package zktest

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
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
		p, ok := ipPrefix(name)
		addr, err := netip.ParseAddr(who.name)
		return ok && err == nil && p.Contains(addr)
	}
	return false
}

// ipPrefix reads the name of an ip acl: an address, or one and its length.
func ipPrefix(name string) (netip.Prefix, bool) {
	host, length, hasLength := strings.Cut(name, "/")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}, false
	}
	bits := addr.BitLen()
	if hasLength {
		if bits, err = strconv.Atoi(length); err != nil {
			return netip.Prefix{}, false
		}
	}
	p, err := addr.Prefix(bits)
	return p, err == nil
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
		case validID(a.id):
			out = append(out, a)
		default:
			return nil, wire.InvalidACL
		}
	}
	if len(out) == 0 {
		return nil, wire.InvalidACL
	}
	return out, wire.OK
}

func validID(i id) bool {
	switch i.scheme {
	case "digest":
		return strings.Count(i.name, ":") == 1
	case "ip":
		_, ok := ipPrefix(i.name)
		return ok
	}
	return false
}

// authenticate returns who a client is that presents auth under a scheme.
func authenticate(scheme string, auth []byte, host string) (id, bool) {
	switch scheme {
	case "digest":
		user, _, _ := strings.Cut(string(auth), ":")
		sum := sha1.Sum(auth)
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
