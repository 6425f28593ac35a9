package zktest

import "github.com/zkfence/zkfence/internal/wire"

// multiHeader opens every operation and every result of a multi.
type multiHeader struct {
	op   Op
	done bool
	err  Code
}

func decodeMultiHeader(d *wire.Decoder) multiHeader {
	return multiHeader{op: Op(d.Int32()), done: d.Bool(), err: Code(d.Int32())}
}

func (h multiHeader) encode(e *wire.Encoder) {
	e.Int32(int32(h.op))
	e.Bool(h.done)
	e.Int32(int32(h.err))
}

// operation is one operation of a multi, waiting to be judged.
type operation func(j *judge, who author) (change, Code)

// decodeMulti reads the operations of a multi; a kind that may not be in one is
// an error, as is a body that ends early.
func decodeMulti(d *wire.Decoder) ([]operation, error) {
	var ops []operation
	for {
		h := decodeMultiHeader(d)
		if d.Err() != nil {
			return nil, d.Err()
		}
		if h.done {
			return ops, nil
		}
		op := decodeOperation(h.op, d)
		if d.Err() != nil {
			return nil, d.Err()
		}
		ops = append(ops, op)
	}
}

func decodeOperation(op Op, d *wire.Decoder) operation {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		r := decodeCreate(op, d)
		// In a multi the flag decides what becomes of a create.
		switch r.flags {
		case flagTTL, flagSequentialTTL:
			if op != OpCreateTTL {
				return func(*judge, author) (change, Code) { return change{}, wire.MarshallingError }
			}
		case flagContainer:
			op, r.ttl = OpCreateContainer, -1
		default:
			op, r.ttl = OpCreate, -1
		}
		return func(j *judge, who author) (change, Code) { return j.create(op, r, who) }
	case OpDelete:
		r := decodeVersioned(d)
		return func(j *judge, who author) (change, Code) { return j.delete(r, who) }
	case OpSetData:
		r := decodeSetData(d)
		return func(j *judge, who author) (change, Code) { return j.setData(r, who) }
	case OpCheck:
		r := decodeVersioned(d)
		return func(j *judge, who author) (change, Code) { return j.check(r, who) }
	}
	d.Fail(wire.ErrShort)
	return nil
}

// judgeAll decides a multi: all of its changes, or, once one operation is
// refused, an error for each: 0 before it, its code, RuntimeInconsistency after.
// What the server chokes on fails the multi as a whole.
func judgeAll(t *tree, ops []operation, who author) ([]change, Code) {
	j := &judge{tree: t}
	var changes []change
	for i, op := range ops {
		c, code := op(j, who)
		if code == wire.OK {
			changes = append(changes, c)
			continue
		}
		if code == wire.MarshallingError {
			return nil, code
		}
		errs := make([]change, len(ops))
		for k := range errs {
			errs[k].op = wire.OpError
			switch {
			case k == i:
				errs[k].code = code
			case k > i:
				errs[k].code = wire.RuntimeInconsistency
			}
		}
		return errs, wire.OK
	}
	return changes, wire.OK
}

// encodeResults appends the body of the answer to a multi.
func encodeResults(e *wire.Encoder, changes []change, stats []Stat) {
	for i, c := range changes {
		encodeResult(e, c, stats[i])
	}
	multiHeader{op: wire.OpError, done: true, err: -1}.encode(e)
}

// encodeResult appends the result of one operation of a multi.
func encodeResult(e *wire.Encoder, c change, s Stat) {
	h := multiHeader{op: c.op, err: c.code}
	if c.op == OpCreateContainer || c.op == OpCreateTTL {
		h.op = OpCreate2
	}
	h.encode(e)
	switch c.op {
	case OpCreate:
		e.String(c.path)
	case OpCreateContainer, OpCreateTTL:
		e.String(c.path)
		s.encode(e)
	case OpSetData:
		s.encode(e)
	case wire.OpError:
		e.Int32(int32(c.code))
	}
}
