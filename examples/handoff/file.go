package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/filefence"
)

// folder is the report as a file, published by filefence. Each process has one of
// its own: what they share is on the disk.
type folder struct{ guard *filefence.Guard }

// fileName is the report's in its folder.
func fileName() string { return path.Base(reportName) }

func (f folder) Raise(ctx context.Context, t fencing.Token) error {
	return f.guard.Raise(ctx, fileName(), t)
}

func (f folder) Get(ctx context.Context) ([]byte, fencing.Stamp, error) {
	file, last, err := f.guard.Open(ctx, fileName())
	if err != nil {
		return nil, last, err
	}
	report, err := io.ReadAll(file)
	return report, last, errors.Join(err, file.Close())
}

func (f folder) Put(ctx context.Context, s fencing.Stamp, report []byte) error {
	return f.guard.Publish(ctx, fileName(), s, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(report))
		return err
	})
}

func (f folder) Close() error { return f.guard.Close() }

// makeFolder is -store file.
func makeFolder(_ context.Context, _ string) (*protected, error) {
	dir, err := os.MkdirTemp("", "zkfence-handoff-")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, fileName()), []byte(reportRaw), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := place{Store: "file", Address: dir}
	f, err := openFolder(p)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-store file: %w", err), os.RemoveAll(dir))
	}
	return &protected{
		place: p, what: filepath.Join(dir, fileName()) + ", behind filefence", read: f.Get,
		close: func() error { return errors.Join(f.Close(), os.RemoveAll(dir)) },
	}, nil
}

func openFolder(p place) (reports, error) {
	guard, err := filefence.New(p.Address)
	if err != nil {
		return nil, err
	}
	return folder{guard}, nil
}
