package httpfence_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// A service checks Stamps, behind its authentication, and two owners write to it.
func Example() {
	d, err := door.New(door.Options{}) // with a file (door.Open) where the data outlives the process
	if err != nil {
		log.Fatal(err)
	}
	guarded, err := httpfence.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "published")
	}), httpfence.Config{Door: d, Resource: httpfence.One("report")})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(authenticated(guarded))
	defer server.Close()

	client := &http.Client{Transport: httpfence.Transport{Base: server.Client().Transport}}
	publish := func(s fencing.Stamp) error { // s is a Hold's Next
		ctx := fencing.WithStamp(context.Background(), s)
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/report", strings.NewReader("…"))
		if err != nil {
			return err
		}
		r.SetBasicAuth("reporter", "secret")
		resp, err := client.Do(r)
		if err != nil {
			return err // unknown, if it matches fencing.ErrUnknownOutcome: again, with s
		}
		defer resp.Body.Close()
		if err := httpfence.Error(resp); err != nil {
			return err
		}
		if !httpfence.WasApplied(resp) {
			return fmt.Errorf("the service answered with %s and has applied nothing", resp.Status)
		}
		return nil
	}
	old, next := stamp("0x200000007:1"), stamp("0x20000000b:1")
	fmt.Println("new owner:", publish(next))
	fmt.Println("old owner:", publish(old))
	// Output:
	// new owner: <nil>
	// old owner: fencing: resource "report": stale token: presented 0x200000007:1 is older than remembered 0x20000000b:1
}

func stamp(text string) fencing.Stamp {
	s, err := fencing.ParseStamp(text)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); !ok || password != "secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
