package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkfence/zkfence/fencing"
)

// reports is one process's way to the report. A refusal is a *fencing.StaleError,
// whichever guard it comes from.
type reports interface {
	Raise(ctx context.Context, t fencing.Token) error
	// Get reads the report, and the Stamp that is remembered with it.
	Get(ctx context.Context) (report []byte, last fencing.Stamp, err error)
	Put(ctx context.Context, s fencing.Stamp, report []byte) error
	Close() error
}

// place says where the report is. It goes to the workers and to nobody else, for it
// can have a password in it.
type place struct {
	Store   string `json:"store"`
	Address string `json:"address"`          // a URL, a data source, a folder
	Schema  string `json:"schema,omitempty"` // in a database: whose tables are this run's
	Secret  string `json:"secret,omitempty"` // of whom a service lets in
}

// protected is a store of this run's own with the raw report in it, as the parent
// has it.
type protected struct {
	place
	what  string // for the timeline, without passwords
	read  func(ctx context.Context) ([]byte, fencing.Stamp, error)
	close func() error // what was made for the run goes with it
}

// storeKind is a store with its guard.
type storeKind struct {
	name string
	make func(ctx context.Context, source string) (*protected, error)
	open func(p place) (reports, error) // by a worker, in its own process
}

// storeKinds are the values of -store, the default first.
func storeKinds() []storeKind {
	return []storeKind{
		{"gate", makeGate, openGate},
		{"sqlite", makeSQLite, openSQLite},
		{"postgres", makePostgres, openPostgres},
		{"file", makeFolder, openFolder},
		{"http", makeService, openService},
	}
}

func findStore(name string) (storeKind, error) {
	var names []string
	for _, k := range storeKinds() {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name)
	}
	return storeKind{}, fmt.Errorf("-store %q: want one of %s", name, strings.Join(names, ", "))
}

var errNoSource = errors.New("-store postgres: which database? Give -postgres postgres://user@host:5432/database, or set ZKFENCE_POSTGRES to it")

// checkStore refuses what can be known to fail before anything is started.
func checkStore(name, source string) error {
	if _, err := findStore(name); err != nil {
		return err
	}
	if name == "postgres" && source == "" {
		return errNoSource
	}
	return nil
}
