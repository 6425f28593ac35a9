package zktest_test

import (
	"github.com/zkfence/zkfence/internal/wire"
)

// sweep ends the script's sessions, so that none of them expires in the midst of
// a later script, and removes its znodes.
func (p *player) sweep() error {
	for _, sess := range p.sessions {
		if err := p.end(sess); err != nil {
			return err
		}
	}
	for _, secret := range secrets {
		if _, err := p.observe(request{Op: opName(wire.OpSetAuth), Scheme: "digest", Data: secret}); err != nil {
			return err
		}
	}
	// All at once: the server reaps a container that it sees empty, and the zxid
	// for that would fall into a later script.
	all, err := p.postOrder("~", nil)
	if err != nil {
		return err
	}
	bundle := request{Op: opName(wire.OpMulti)}
	for _, path := range all {
		bundle.Subs = append(bundle.Subs, request{Op: opName(wire.OpDelete), Path: path, Version: -1})
	}
	if _, err := p.observe(bundle); err != nil {
		return err
	}
	_, err = p.observe(request{Op: opName(wire.OpCloseSession)})
	return err
}

// end closes a session unless it has ended.
func (p *player) end(sess *played) error {
	l, err := dialLink(p.addr)
	if err != nil {
		return err
	}
	defer l.nc.Close()
	w, err := l.greet(wire.ConnectRequest{TimeoutMs: 60_000, Session: sess.id, Password: sess.password}.Append(nil))
	if err != nil || w.Session == 0 {
		return err
	}
	if err := l.write(p.append(nil, l, request{Op: opName(wire.OpCloseSession)})); err != nil {
		return err
	}
	_, err = l.read(mustAnswer)
	return err
}

// postOrder appends path and all below it, children first, to list, and takes
// what access control is in the way out of it.
func (p *player) postOrder(path string, list []string) ([]string, error) {
	if _, err := p.observe(request{Op: opName(wire.OpSetACL), Path: path, Version: -1}); err != nil {
		return nil, err
	}
	f, err := p.observe(request{Op: opName(wire.OpGetChildren), Path: path})
	if err != nil || f.Err != 0 {
		return list, err
	}
	for _, name := range wire.NewDecoder(f.body).Strings() {
		if list, err = p.postOrder(path+"/"+name, list); err != nil {
			return nil, err
		}
	}
	return append(list, path), nil
}
