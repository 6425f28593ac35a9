package ensemble

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zkconn"
)

// ErrNoLeader is what Leader returns when no server says that it leads.
var ErrNoLeader = errors.New("ensemble: no leader")

// askTimeout bounds one question to a server, which may be paused.
const askTimeout = 2 * time.Second

// Ask sends a four-letter word, such as srvr, mntr or cons, and returns the
// answer. It takes 2 s at most, with an error if the server does not answer.
func (s *Server) Ask(ctx context.Context, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := ask(ctx, s.Addr(), word)
	if err != nil {
		return "", fmt.Errorf("ensemble: ask %v for %s: %w", s, word, err)
	}
	return answer, nil
}

func ask(ctx context.Context, addr, word string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && len(answer) == 0 {
		// The engine's port is open before the server's is, and behind it nobody.
		err = io.ErrUnexpectedEOF
	}
	return string(answer), err
}

// Status is what a server says about itself.
type Status struct {
	Mode string // leader, follower or standalone; empty if it serves nobody, for want of a quorum
	Zxid uint64 // the newest that it knows; 0 if it serves nobody
}

// Status asks the server for its mode, on its own authority: a leader deposed
// without noticing it still says leader. The error is one of Ask.
func (s *Server) Status(ctx context.Context) (Status, error) {
	answer, err := s.Ask(ctx, "srvr")
	if err != nil {
		return Status{}, err
	}
	return parseStatus(answer)
}

func parseStatus(answer string) (Status, error) {
	var st Status
	for lines := bufio.NewScanner(strings.NewReader(answer)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "Mode":
			st.Mode = value
		case "Zxid":
			zxid, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
			if err != nil {
				return Status{}, fmt.Errorf("ensemble: zxid %q: %w", value, err)
			}
			st.Zxid = zxid
		}
	}
	return st, nil
}

// Leader asks all servers and returns the one that leads. Where a deposed leader
// has not noticed it yet, that is the one of the newer epoch. It returns
// ErrNoLeader while none says that it leads; a single server leads itself.
func (e *Ensemble) Leader(ctx context.Context) (*Server, error) {
	statuses := e.statuses(ctx)
	var leader *Server
	var epoch uint64
	for i, st := range statuses {
		if (st.Mode == "leader" || st.Mode == "standalone") && (leader == nil || st.Zxid>>32 > epoch) {
			leader, epoch = e.servers[i], st.Zxid>>32
		}
	}
	if leader == nil {
		return nil, ErrNoLeader
	}
	return leader, nil
}

// statuses returns every server's; that of one that does not answer is empty.
func (e *Ensemble) statuses(ctx context.Context) []Status {
	statuses := make([]Status, len(e.servers))
	// A server that does not answer is one that does not lead.
	_ = each(e.servers, func(s *Server) (err error) {
		statuses[s.id-1], err = s.Status(ctx)
		return err
	})
	return statuses
}

// pollEvery is how often Await looks.
const pollEvery = 50 * time.Millisecond

// Await waits until all servers serve that no fault of this package holds back,
// exactly one of them leads, and a majority commits what a session asks of them.
// Its error, when ctx ends before, says what was missing, and quotes the servers'
// logs.
func (e *Ensemble) Await(ctx context.Context) error {
	err := poll(ctx, pollEvery, func() error { return e.serve(ctx) })
	if err != nil {
		return fmt.Errorf("ensemble: await: %w%s", err, e.lastWords())
	}
	return nil
}

func (e *Ensemble) serve(ctx context.Context) error {
	statuses, leaders := e.statuses(ctx), 0
	var addrs []string
	for i, s := range e.servers {
		if !s.whole() {
			continue
		}
		addrs = append(addrs, s.Addr())
		switch statuses[i].Mode {
		case "":
			return fmt.Errorf("%v does not serve", s)
		case "leader", "standalone":
			leaders++
		}
	}
	if leaders != 1 {
		return fmt.Errorf("%d leaders", leaders)
	}
	return e.commits(ctx, addrs)
}

// commitTimeout bounds a try of commits.
const commitTimeout = 5 * time.Second

// commits asks for what a majority has to log, in a session of its own. It changes
// no data.
func (e *Ensemble) commits(ctx context.Context, addrs []string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	client, err := zkconn.Dial(ctx, addrs, zkconn.WithSessionTimeout(max(commitTimeout, 4*e.opts.tick)), zkconn.WithServerTick(e.opts.tick))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close(ctx)) }()
	session, err := client.Session(ctx)
	if err != nil {
		return err
	}
	_, err = zkconn.Call(ctx, session, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
		return conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
	})
	return err
}
