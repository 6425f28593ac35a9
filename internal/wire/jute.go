package wire

import (
	"encoding/binary"
	"errors"
)

// ErrShort is what a Decoder reports once a field does not fit in the bytes
// that are left, or a length is negative where none may be.
var ErrShort = errors.New("wire: record is shorter than its fields say")

// Decoder reads jute fields from a byte slice. The first field that does not
// fit sets Err; every read after that returns a zero value, so that a record
// is decoded in a straight line and checked once.
type Decoder struct {
	buf []byte
	off int
	err error
}

// NewDecoder returns a Decoder for b, which it does not copy.
func NewDecoder(b []byte) *Decoder { return &Decoder{buf: b} }

// Err returns the first error, or nil.
func (d *Decoder) Err() error { return d.err }

// Len returns how many bytes are left.
func (d *Decoder) Len() int { return len(d.buf) - d.off }

// Rest returns the bytes that are left, without copying them.
func (d *Decoder) Rest() []byte { return d.buf[d.off:] }

// Fail makes err the decoder's error unless it has one already.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > d.Len() {
		d.err = ErrShort
		return nil
	}
	b := d.buf[d.off : d.off+n]
	d.off += n
	return b
}

// Int32 reads an int.
func (d *Decoder) Int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Int64 reads a long.
func (d *Decoder) Int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Bool reads a boolean, one byte.
func (d *Decoder) Bool() bool {
	if b := d.take(1); b != nil {
		return b[0] != 0
	}
	return false
}

// Buffer reads a buffer and copies it; nil for length -1.
func (d *Decoder) Buffer() []byte {
	n := d.Int32()
	if d.err != nil || n == -1 {
		return nil
	}
	b := d.take(int(n))
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// String reads a string; "" for length -1.
func (d *Decoder) String() string {
	n := d.Int32()
	if d.err != nil || n == -1 {
		return ""
	}
	return string(d.take(int(n)))
}

// Count reads the length of a vector whose elements take at least min bytes
// each; 0 for -1. A count that cannot fit is an error before anyone allocates
// for it.
func (d *Decoder) Count(min int) int {
	n := d.Int32()
	if d.err != nil || n == -1 {
		return 0
	}
	if n < 0 || min > 0 && int(n) > d.Len()/min {
		d.err = ErrShort
		return 0
	}
	return int(n)
}

// Strings reads a vector of strings.
func (d *Decoder) Strings() []string {
	n := d.Count(4)
	s := make([]string, 0, n)
	for i := 0; i < n && d.err == nil; i++ {
		s = append(s, d.String())
	}
	return s
}

// Encoder appends jute fields to Buf.
type Encoder struct{ Buf []byte }

// Int32 appends an int.
func (e *Encoder) Int32(v int32) { e.Buf = binary.BigEndian.AppendUint32(e.Buf, uint32(v)) }

// Int64 appends a long.
func (e *Encoder) Int64(v int64) { e.Buf = binary.BigEndian.AppendUint64(e.Buf, uint64(v)) }

// Bool appends a boolean.
func (e *Encoder) Bool(v bool) {
	if v {
		e.Buf = append(e.Buf, 1)
	} else {
		e.Buf = append(e.Buf, 0)
	}
}

// Buffer appends a buffer, length -1 for nil.
func (e *Encoder) Buffer(b []byte) {
	if b == nil {
		e.Int32(-1)
		return
	}
	e.Int32(int32(len(b)))
	e.Buf = append(e.Buf, b...)
}

// String appends a string.
func (e *Encoder) String(s string) {
	e.Int32(int32(len(s)))
	e.Buf = append(e.Buf, s...)
}

// Strings appends a vector of strings.
func (e *Encoder) Strings(s []string) {
	e.Int32(int32(len(s)))
	for _, v := range s {
		e.String(v)
	}
}
