package queue

import (
	"context"
	"fmt"
)

// judge reads a list that must contain our own node.
func (p *Place) judge(ctx context.Context, children []string, on Events) (standing, error) {
	contenders := make([]Name, 0, len(children))
	listed := false
	for _, child := range children {
		n := Parse(child)
		switch n.Kind {
		case Foreign:
			return standing{}, &ForeignError{Child: child}
		case Stranger:
			p.report(child, on)
			continue
		}
		listed = listed || child == p.node.Child
		contenders = append(contenders, n)
	}
	if !listed {
		return standing{}, p.missing(ctx)
	}
	contenders, err := p.withoutTwins(ctx, contenders)
	if err != nil {
		return standing{}, err
	}
	if sequenced(contenders) {
		return bySequence(contenders, p.node), nil
	}
	if err := p.date(ctx, contenders); err != nil {
		return standing{}, err
	}
	return byCzxid(contenders, p.node, p.ages), nil
}

func (p *Place) report(child string, on Events) {
	if _, ok := p.reported[child]; ok || on.Ignored == nil {
		return
	}
	if p.reported == nil {
		p.reported = make(map[string]struct{})
	}
	p.reported[child] = struct{}{}
	on.Ignored(child)
}

// withoutTwins takes out nodes with our GUID that our session owns, each of
// which is a debt: waited for, it would block us and all behind us for ever.
func (p *Place) withoutTwins(ctx context.Context, contenders []Name) ([]Name, error) {
	var unknown []string
	any := false
	for _, n := range contenders {
		if n.Child == p.node.Child || !carries(n.Child, p.guid) {
			continue
		}
		any = true
		if _, ok := p.twins[n.Child]; !ok {
			unknown = append(unknown, n.Child)
		}
	}
	if !any {
		return contenders, nil
	}
	if p.twins == nil {
		p.twins = make(map[string]bool)
	}
	found, err := stats(ctx, p.s, p.line, unknown)
	if err != nil {
		return nil, fmt.Errorf("read the owner of a node with our GUID: %w", err)
	}
	for _, child := range unknown {
		st, there := found[child]
		p.twins[child] = there && st.EphemeralOwner == p.s.ID()
		if p.twins[child] {
			p.owe(p.line.pathOf(child))
		}
	}
	kept := contenders[:0]
	for _, n := range contenders {
		if n.Child == p.node.Child || !p.twins[n.Child] {
			kept = append(kept, n)
		}
	}
	return kept, nil
}

// date brings p.ages up to date with the contenders of one list.
func (p *Place) date(ctx context.Context, contenders []Name) error {
	ages := make(map[string]int64, len(contenders))
	var unknown []string
	for _, n := range contenders {
		if n.Child == p.node.Child {
			ages[n.Child] = p.czxid
		} else if age, ok := p.ages[n.Child]; ok {
			ages[n.Child] = age
		} else {
			unknown = append(unknown, n.Child)
		}
	}
	found, err := stats(ctx, p.s, p.line, unknown)
	if err != nil {
		return fmt.Errorf("read the age of contenders: %w", err)
	}
	for child, st := range found {
		ages[child] = st.Czxid
	}
	p.ages = ages
	return nil
}
