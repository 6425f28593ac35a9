package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Credentials of one request.
type Credentials struct {
	AccessKey    string
	SecretKey    string
	SessionToken string // of temporary credentials; else empty
}

const (
	algorithm = "AWS4-HMAC-SHA256"
	isoTime   = "20060102T150405Z"
)

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// escape writes everything but unreserved characters and "/" as %XX, which is the
// one spelling of a path that is signed. url.PathEscape leaves more as it is.
func escape(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		const digits = "0123456789ABCDEF"
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}

// escapeValue is escape for what stands in a query.
func escapeValue(text string) string { return strings.ReplaceAll(escape(text), "/", "%2F") }

// sign adds Signature Version 4, over all headers that the request has.
func sign(r *http.Request, body []byte, c Credentials, region string, now time.Time) {
	when := now.UTC().Format(isoTime)
	r.Header.Set("X-Amz-Date", when)
	r.Header.Set("X-Amz-Content-Sha256", sha(body))
	if c.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", c.SessionToken)
	}
	headers := map[string]string{"host": r.URL.Host}
	names := []string{"host"}
	for name, values := range r.Header {
		name = strings.ToLower(name)
		names = append(names, name)
		headers[name] = strings.TrimSpace(strings.Join(values, ","))
	}
	slices.Sort(names)
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n")
	for _, name := range names {
		canonical.WriteString(name + ":" + headers[name] + "\n")
	}
	signed := strings.Join(names, ";")
	canonical.WriteString("\n" + signed + "\n" + sha(body))

	scope := strings.Join([]string{when[:8], region, "s3", "aws4_request"}, "/")
	key := []byte("AWS4" + c.SecretKey)
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	toSign := strings.Join([]string{algorithm, when, scope, sha([]byte(canonical.String()))}, "\n")
	r.Header.Set("Authorization", algorithm+" Credential="+c.AccessKey+"/"+scope+
		",SignedHeaders="+signed+",Signature="+hex.EncodeToString(mac(key, toSign)))
}
