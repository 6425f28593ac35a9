package httpfence_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// An operator resets the memory of a Gateway while it runs, through a handler of your
// own behind an authentication of its own: the Door is yours, and one for both.
func ExampleGateway_override() {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	u, err := url.Parse(service.URL)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d, err := door.Open(filepath.Join(dir, "door"), door.Options{Settle: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	gateway, err := httpfence.Gateway(httpfence.Upstream{URL: u}, httpfence.Config{Door: d, Resource: httpfence.One("report")})
	if err != nil {
		log.Fatal(err)
	}
	override := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, password, ok := r.BasicAuth()
		if !ok || password != "the operator's" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		to, err := fencing.ParseStamp(r.FormValue("to"))
		if err == nil {
			err = d.Override(r.Context(), "report", to, who, r.FormValue("why"))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	write := func(s string) {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPut, "/report", nil)
		r.SetBasicAuth("reporter", "secret")
		r.Header.Set(httpfence.StampHeader, s)
		w := httptest.NewRecorder()
		authenticated(gateway).ServeHTTP(w, r)
		fmt.Println(s, w.Code)
	}
	write("0x20000000b:1")
	write("0x100000003:1") // of the rebuilt ensemble, which counts from the start

	form := url.Values{"to": {"0x100000003:0"}, "why": {"rebuilt on Monday"}}
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/override", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("Ada", "the operator's")
	override.ServeHTTP(httptest.NewRecorder(), r)
	write("0x100000003:1")
	for _, o := range d.Overrides("report") {
		fmt.Println("from", o.From, "to", o.To, "by", o.Who, "for:", o.Why)
	}
	// Output:
	// 0x20000000b:1 200
	// 0x100000003:1 409
	// 0x100000003:1 200
	// from 0x20000000b:1 to 0x100000003:0 by Ada for: rebuilt on Monday
}
