package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// ErrNoEngine is what Start returns on a machine where no container engine
// answers, and DOCKER_HOST names none.
var ErrNoEngine = errors.New("ensemble: no container engine answers")

const (
	ensembleLabel = "zkfence.ensemble"
	ownerLabel    = "zkfence.owner"
)

// engineTimeout bounds the question whether there is an engine at all.
const engineTimeout = 10 * time.Second

// cleanTimeout bounds a clean-up, which must not end with the caller's context:
// that is often over when it runs.
const cleanTimeout = 30 * time.Second

// connect returns a client of the container engine.
func connect(ctx context.Context) (*testcontainers.DockerClient, error) {
	for name, value := range map[string]string{
		"TESTCONTAINERS_RYUK_DISABLED": "true",
		"TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
	} {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	named := os.Getenv("DOCKER_HOST")
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err == nil {
		_, err = docker.Ping(ctx, client.PingOptions{})
		if err == nil && named != "" && docker.DaemonHost() != named {
			err = fmt.Errorf("the one that answers is at %s", docker.DaemonHost())
		}
		if err != nil {
			err = errors.Join(err, docker.Close())
		}
	}
	switch {
	case err == nil:
		return docker, nil
	case named != "":
		// testcontainers looks elsewhere then, and a test would break servers on an engine
		// that nobody has named, or be skipped for a slip of the pen.
		return nil, fmt.Errorf("ensemble: DOCKER_HOST is %q, and no container engine answers there: start it, or unset the variable: %w", named, err)
	default:
		return nil, noEngine(err)
	}
}

// noEngine says why in one line, for a test that is skipped by it.
func noEngine(err error) error {
	return fmt.Errorf("%w: %s", ErrNoEngine, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// owner says whose containers are ours: this process's.
func owner() (string, error) {
	host, err := os.Hostname()
	return host + "/" + strconv.Itoa(os.Getpid()), err
}

// abandoned reports whether the owner is a process of this machine that has ended.
func abandoned(owner, host string) bool {
	at, pid, _ := strings.Cut(owner, "/")
	n, err := strconv.Atoi(pid)
	if at != host || err != nil || n <= 0 {
		return false
	}
	p, err := os.FindProcess(n)
	if err != nil {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// sweep removes what ensembles of ended processes have left behind.
func sweep(ctx context.Context, docker *testcontainers.DockerClient) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	return remove(ctx, docker, ensembleLabel, func(labels map[string]string) bool {
		return abandoned(labels[ownerLabel], host)
	})
}

// remove removes the containers, with their volumes, and then the networks that
// have the label and satisfy which, within cleanTimeout. It tries again after an
// error: the engine may still be carrying out what a process asked for that is gone
// by now, and refuses to remove meanwhile.
func remove(ctx context.Context, docker *testcontainers.DockerClient, label string, which func(labels map[string]string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	return poll(ctx, pollEvery, func() error { return tryRemove(ctx, docker, label, which) })
}

func tryRemove(ctx context.Context, docker *testcontainers.DockerClient, label string, which func(labels map[string]string) bool) error {
	filters := client.Filters{}.Add("label", label)
	containers, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return err
	}
	var names []string
	for _, c := range containers.Items {
		if which(c.Labels) {
			names = append(names, c.ID)
		}
	}
	errs := each(names, func(id string) error {
		_, err := docker.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		return err
	})
	networks, err := docker.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	errs = errors.Join(errs, err)
	for _, n := range networks.Items {
		if which(n.Labels) {
			_, err := docker.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// each calls do for all at once, waits, and returns every error.
func each[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, x := range all {
		wg.Go(func() { errs[i] = do(x) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// poll calls try until it returns nil, and returns its last error if ctx ends
// before.
func poll(ctx context.Context, every time.Duration, try func() error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}
