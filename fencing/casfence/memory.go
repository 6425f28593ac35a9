package casfence

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Memory is a Store in memory, for tests. The zero Memory is empty and ready.
type Memory struct {
	mu    sync.Mutex
	count uint64
	items map[string]item
}

type item struct {
	value   []byte
	version string
	when    time.Time
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, key string) (value []byte, version string, err error) {
	if ctx.Err() != nil {
		return nil, "", fencing.Ended(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.items[key]
	return bytes.Clone(i.value), i.version, nil
}

// Put implements Store.
func (m *Memory) Put(ctx context.Context, key string, value []byte, version string) (newVersion string, err error) {
	if ctx.Err() != nil {
		return "", fencing.Ended(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.items[key].version != version {
		return "", ErrConflict
	}
	if m.items == nil {
		m.items = make(map[string]item)
	}
	m.count++
	newVersion = strconv.FormatUint(m.count, 10)
	m.items[key] = item{bytes.Clone(value), newVersion, time.Now()}
	return newVersion, nil
}

// List implements SweepStore.
func (m *Memory) List(ctx context.Context, prefix string) ([]Listed, error) {
	if ctx.Err() != nil {
		return nil, fencing.Ended(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Listed
	for key, i := range m.items {
		if strings.HasPrefix(key, prefix) {
			all = append(all, Listed{key, i.when})
		}
	}
	return all, nil
}

// Delete implements SweepStore.
func (m *Memory) Delete(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return fencing.Ended(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, key)
	return nil
}
