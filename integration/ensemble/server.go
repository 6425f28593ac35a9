package ensemble

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
)

const clientPort = "2181/tcp"

// Server is one server of an Ensemble. Its methods return once the container
// engine has done what they say; what the server and the others make of it takes
// its time, and Ensemble.Await waits for that.
type Server struct {
	e  *Ensemble
	id int

	mu        sync.Mutex // never held while the engine is asked
	container string
	down      bool
	paused    bool
	cut       bool
}

// ID returns the server's number in the ensemble, from 1.
func (s *Server) ID() int { return s.id }

// Addr returns where clients reach it, "127.0.0.1:port", for the life of the
// Ensemble.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.e.place.ports[s.id-1]) }

func (s *Server) String() string { return fmt.Sprintf("server %d", s.id) }

// whole reports whether nothing of ours keeps it from serving.
func (s *Server) whole() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.down && !s.paused && !s.cut
}

func (s *Server) set(change func(*Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *Server) in() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.container
}

func (s *Server) env() map[string]string {
	var servers []string
	for _, peer := range s.e.servers {
		servers = append(servers, fmt.Sprintf("server.%d=%v:2888:3888;2181", peer.id, s.e.place.address(peer.id)))
	}
	env := map[string]string{
		"ZOO_MY_ID":                  strconv.Itoa(s.id),
		"ZOO_SERVERS":                strings.Join(servers, " "),
		"ZOO_TICK_TIME":              strconv.FormatInt(s.e.opts.tick.Milliseconds(), 10),
		"ZOO_INIT_LIMIT":             strconv.Itoa(s.e.opts.initLimit),
		"ZOO_SYNC_LIMIT":             strconv.Itoa(s.e.opts.syncLimit),
		"ZOO_MAX_CLIENT_CNXNS":       "0",
		"ZOO_STANDALONE_ENABLED":     strconv.FormatBool(s.e.opts.servers == 1),
		"ZOO_ADMINSERVER_ENABLED":    "false",
		"ZOO_4LW_COMMANDS_WHITELIST": "*",
		"ZOO_CFG_EXTRA":              "maxSessionTimeout=60000 forceSync=no quorumListenOnAllIPs=true",
		"ZK_SERVER_HEAP":             "128",
		"JVMFLAGS":                   "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dzookeeper.extendedTypesEnabled=true -Dznode.container.checkIntervalMs=1000",
	}
	if s.e.opts.wallClocks {
		maps.Copy(env, wallClockEnv)
	}
	maps.Copy(env, s.e.opts.env)
	maps.Copy(env, s.e.opts.serverEnv[s.id])
	return env
}

// create makes the container, without starting it.
func (s *Server) create(ctx context.Context) error {
	c, err := testcontainers.Run(ctx, s.e.opts.image,
		testcontainers.WithNoStart(),
		testcontainers.WithLabels(maps.Clone(s.e.labels)),
		testcontainers.WithEnv(s.env()),
		testcontainers.WithExposedPorts(clientPort),
		tcnetwork.WithNetwork(nil, s.e.clients),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{network.MustParsePort(clientPort): {{
				HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: strconv.Itoa(s.e.place.ports[s.id-1]),
			}}}
		}),
	)
	if err != nil {
		return fmt.Errorf("%v: %w", s, err)
	}
	s.set(func(s *Server) { s.container, s.down, s.paused, s.cut = c.GetContainerID(), true, false, true })
	return s.HealQuorum(ctx)
}

// Kill ends the server's process at once (SIGKILL). What it has logged stays.
func (s *Server) Kill(ctx context.Context) error {
	_, err := s.e.docker.ContainerKill(ctx, s.in(), client.ContainerKillOptions{Signal: "KILL"})
	if err == nil {
		// The engine answers when the signal is sent; what follows wants it dead.
		wait := s.e.docker.ContainerWait(ctx, s.in(), client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
		select {
		case <-wait.Result:
		case err = <-wait.Error:
		}
	}
	return s.did("kill", err, func(s *Server) { s.down, s.paused = true, false })
}

// stopSeconds is how long a server may take to end by itself.
const stopSeconds = 10

// Stop asks the server's process to end (SIGTERM), and kills it after ten seconds.
func (s *Server) Stop(ctx context.Context) error {
	seconds := stopSeconds
	_, err := s.e.docker.ContainerStop(ctx, s.in(), client.ContainerStopOptions{Timeout: &seconds})
	return s.did("stop", err, func(s *Server) { s.down, s.paused = true, false })
}

// Start starts the server after Kill, Stop or Wipe, at the same addresses.
func (s *Server) Start(ctx context.Context) error {
	_, err := s.e.docker.ContainerStart(ctx, s.in(), client.ContainerStartOptions{})
	return s.did("start", err, func(s *Server) { s.down = false })
}

// Pause stops the server's process where it is, as SIGSTOP does: its connections
// stay open, new ones are accepted by its kernel, and no byte is answered.
func (s *Server) Pause(ctx context.Context) error {
	_, err := s.e.docker.ContainerPause(ctx, s.in(), client.ContainerPauseOptions{})
	return s.did("pause", err, func(s *Server) { s.paused = true })
}

// Resume lets a paused server go on.
func (s *Server) Resume(ctx context.Context) error {
	_, err := s.e.docker.ContainerUnpause(ctx, s.in(), client.ContainerUnpauseOptions{})
	return s.did("resume", err, func(s *Server) { s.paused = false })
}

// Wipe kills the server and takes away all that it has stored, as a lost disk
// does; Start starts it with nothing but its id, linked to the others even if it
// was cut off. A server that is wiped alone learns everything again from its
// leader; see Ensemble.Rebuild for all of them.
func (s *Server) Wipe(ctx context.Context) error {
	_, err := s.e.docker.ContainerRemove(ctx, s.in(), client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil {
		// A container of its own again: the official image keeps data in volumes,
		// which only go with it.
		err = s.create(ctx)
	}
	return s.did("wipe", err, func(s *Server) { s.down, s.paused = true, false })
}

// CutQuorum cuts the server off from the other servers. Nobody is told: packets
// vanish, both ways, until HealQuorum. Its clients still reach it.
func (s *Server) CutQuorum(ctx context.Context) error {
	_, err := s.e.docker.NetworkDisconnect(ctx, s.e.quorum.ID, client.NetworkDisconnectOptions{Container: s.in()})
	return s.did("cut quorum links", err, func(s *Server) { s.cut = true })
}

// HealQuorum links the server with the others again, at its old address.
func (s *Server) HealQuorum(ctx context.Context) error {
	_, err := s.e.docker.NetworkConnect(ctx, s.e.quorum.ID, client.NetworkConnectOptions{
		Container: s.in(),
		EndpointConfig: &network.EndpointSettings{
			IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: s.e.place.address(s.id)},
		},
	})
	return s.did("heal quorum links", err, func(s *Server) { s.cut = false })
}

func (s *Server) did(what string, err error, change func(*Server)) error {
	if err != nil {
		return fmt.Errorf("ensemble: %s %v: %w", what, s, err)
	}
	s.set(change)
	return nil
}

// Log returns what the server has printed since it was created, or why that cannot
// be had. Wipe begins anew.
func (s *Server) Log(ctx context.Context) string {
	return s.log(ctx, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
}

// log returns what the server has printed, or why it cannot be had.
func (s *Server) log(ctx context.Context, opts client.ContainerLogsOptions) string {
	out, err := s.e.docker.ContainerLogs(ctx, s.in(), opts)
	if err != nil {
		return err.Error()
	}
	defer out.Close()
	var b bytes.Buffer
	if _, err := stdcopy.StdCopy(&b, &b, out); err != nil {
		fmt.Fprintf(&b, "… %v", err)
	}
	return b.String()
}
