package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// A new owner raises the floor, reads, and writes. Where the outcome is unknown it
// tries again with the same Stamp, a bounded number of times: a fresh one could write
// twice. What else a later try fails with says nothing of the first.
func ExampleRaise() {
	server := httptest.NewServer(guardedReport())
	defer server.Close()
	client := &http.Client{Transport: httpfence.Transport{Base: server.Client().Transport}}
	ctx := context.Background()
	token := stamp("0x200000007:0").Token // a Hold's Token and Next in a program
	stamps := fencing.NewSequencer(token)

	if err := httpfence.Raise(ctx, client, server.URL, token); err != nil {
		log.Fatal(err)
	}
	read := get(client, server.URL)
	put := func(s fencing.Stamp) error {
		r, err := http.NewRequestWithContext(fencing.WithStamp(ctx, s), http.MethodPut, server.URL, strings.NewReader(read+"one line more\n"))
		if err != nil {
			return err
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
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
	s := stamps.Next()
	err := put(s)
	for range 4 {
		if err == nil || errors.Is(err, fencing.ErrDuplicate) || errors.Is(err, fencing.ErrStale) {
			break
		}
		err = put(s)
	}
	switch {
	case err == nil, errors.Is(err, fencing.ErrDuplicate): // an earlier try was applied
		fmt.Print(get(client, server.URL))
	case errors.Is(err, fencing.ErrStale):
		fmt.Println("there is a newer owner: stop")
	default:
		fmt.Println(err)
	}
	// Output: one line more
}

// guardedReport is a text that is read and put, behind a guard.
func guardedReport() http.Handler {
	var mu sync.Mutex
	var text []byte
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			_, _ = w.Write(text)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text = body
	})
	d, err := door.New(door.Options{})
	if err != nil {
		log.Fatal(err)
	}
	guarded, err := httpfence.Guard(service, httpfence.Config{Door: d, Resource: httpfence.One("report")})
	if err != nil {
		log.Fatal(err)
	}
	return guarded
}

func get(client *http.Client, url string) string {
	resp, err := client.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	return string(text)
}
