package fencing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// parseDecimal reads digits without sign or leading zeros.
func parseDecimal(s string, bits int) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, false
	}
	return n, true
}

// jsonString returns the string that the JSON value b is; an error if it is
// anything else.
func jsonString(what string, b []byte) (string, error) {
	b = bytes.Trim(b, " \t\r\n") // JSON's white space, which is less than Unicode's
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return "", fmt.Errorf("fencing: %s: %w", what, err)
		}
		return s, nil
	}
	if string(b) == "null" {
		return "", fmt.Errorf("fencing: %s: JSON null would keep the %s that was there before; leave the field out, or use a pointer", what, what)
	}
	return "", fmt.Errorf("fencing: %s: JSON %.40q is not a string; a number would lose digits as a float64", what, b)
}
