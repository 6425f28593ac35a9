package s3

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The examples of Amazon's documentation, "Signature Calculations for the
// Authorization Header: Transferring Payload in a Single Chunk".
func TestSignsAsAmazonsExamples(t *testing.T) {
	c := Credentials{AccessKey: "AKIAIOSFODNN7EXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	for _, e := range []struct {
		name, method, path, query string
		headers                   map[string]string
		body, signed, signature   string
	}{
		{"Get", http.MethodGet, "/test.txt", "", map[string]string{"Range": "bytes=0-9"}, "",
			"host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"Put", http.MethodPut, "/test$file.text", "", map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"}, "Welcome to Amazon S3.",
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
	} {
		t.Run(e.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), e.method, "https://examplebucket.s3.amazonaws.com", nil)
			require.NoError(t, err)
			r.URL.Path, r.URL.RawPath = e.path, escape(e.path)
			for k, v := range e.headers {
				r.Header.Set(k, v)
			}
			sign(r, []byte(e.body), c, "us-east-1", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
			require.Equal(t, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="+e.signed+",Signature="+e.signature, r.Header.Get("Authorization"))
		})
	}
}

func TestEscapeHasOneSpelling(t *testing.T) {
	require.Equal(t, "/b/a%20b%2B%25%C3%BC%3A%24%40%26%3D/..~_-", escape("/b/a b+%ü:$@&=/..~_-"))
}
