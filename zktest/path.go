package zktest

import "strings"

// validPath is ZooKeeper's own rule: absolute, no empty name, no trailing
// slash, no . or .. as a name, no control character, nothing that Java cannot
// hold in one char outside the private and special ranges.
func validPath(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	if path == "/" {
		return true
	}
	for _, name := range strings.Split(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	for _, c := range path {
		if c <= 0x1f || c >= 0x7f && c <= 0x9f || c >= 0xd800 && c <= 0xf8ff || c >= 0xfff0 {
			return false
		}
	}
	return true
}
