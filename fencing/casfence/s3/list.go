package s3

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zkfence/zkfence/fencing/casfence"
)

// page is S3's answer to a ListObjectsV2, as far as it is needed.
type page struct {
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct {
		Key          string
		LastModified time.Time
	}
}

// List implements casfence.SweepStore, by as many requests as it takes for 1,000 keys
// each.
func (s *Store) List(ctx context.Context, prefix string) ([]casfence.Listed, error) {
	var all []casfence.Listed
	for token := ""; ; {
		p, err := s.page(ctx, prefix, token)
		if err != nil {
			return nil, fmt.Errorf("s3: list %s: %w", prefix, err)
		}
		for _, o := range p.Contents {
			key := o.Key
			if p.EncodingType == "url" {
				if key, err = url.QueryUnescape(key); err != nil {
					return nil, fmt.Errorf("s3: list %s: key %q: %w", prefix, o.Key, err)
				}
			}
			key, ours := strings.CutPrefix(key, s.config.Prefix)
			if !ours || !strings.HasPrefix(key, prefix) {
				return nil, fmt.Errorf("s3: list %s: the server lists %q, which is not below it", prefix, o.Key)
			}
			all = append(all, casfence.Listed{Key: key, Modified: o.LastModified})
		}
		switch {
		case !p.IsTruncated:
			return all, nil
		case p.NextContinuationToken == "" || p.NextContinuationToken == token:
			return nil, fmt.Errorf("s3: list %s: there is more after %d keys, and the server does not say where", prefix, len(all))
		}
		token = p.NextContinuationToken
	}
}

func (s *Store) page(ctx context.Context, prefix, token string) (*page, error) {
	// Sorted, and in the one spelling that is signed. Keys are asked for in URL
	// encoding: XML has no way to write some of the bytes that they can have.
	query := "encoding-type=url&list-type=2&prefix=" + escapeValue(s.config.Prefix+prefix)
	if token != "" {
		query = "continuation-token=" + escapeValue(token) + "&" + query
	}
	r, err := s.ask(ctx, http.MethodGet, "/"+s.config.Bucket, query, nil, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusOK {
		return nil, failure(r)
	}
	p := new(page)
	if err := xml.NewDecoder(r.Body).Decode(p); err != nil {
		return nil, fmt.Errorf("the answer is no list: %w", err)
	}
	return p, nil
}

// Delete implements casfence.SweepStore. In a bucket with versions the object is hidden
// by a delete marker, and stays until a lifecycle rule for noncurrent versions ends it.
func (s *Store) Delete(ctx context.Context, key string) error {
	r, err := s.send(ctx, http.MethodDelete, key, nil, nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode == http.StatusOK || r.StatusCode == http.StatusNoContent {
		return nil
	}
	e := failure(r)
	if r.StatusCode == http.StatusNotFound && e.Code == "NoSuchKey" {
		return nil
	}
	return fmt.Errorf("s3: DELETE %s: %w", key, e)
}
