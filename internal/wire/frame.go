package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MaxFrame is the largest frame a server accepts unless told otherwise, in
// bytes without the length (jute.maxbuffer, 0xfffff in ZooKeeper 3.8).
const MaxFrame = 0xfffff

// FrameSizeError reports a frame length that is negative or over the limit.
type FrameSizeError struct{ Size, Limit int }

func (e *FrameSizeError) Error() string {
	return fmt.Sprintf("wire: frame of %d bytes, limit %d", e.Size, e.Limit)
}

// unproven is how many bytes a frame is given before any has arrived.
const unproven = 16 << 10

// ReadFrame reads one frame from r and returns its payload in a slice of its
// own. limit bounds the payload; io.EOF means that r ended between frames.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(head[:])))
	if n < 0 || n > limit {
		return nil, &FrameSizeError{Size: n, Limit: limit}
	}
	// A length is only a claim: memory is taken as bytes arrive, or every idle
	// connection could take as much as the limit allows.
	b := make([]byte, min(n, unproven))
	for have := 0; ; {
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if have = len(b); have == n {
			return b, nil
		}
		b = append(b, make([]byte, min(n-have, have))...)
	}
}

// AppendFrame appends payload to dst as a frame.
func AppendFrame(dst, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

// RequestHeader opens every request after the handshake.
type RequestHeader struct {
	Xid int32
	Op  Op
}

// RequestHeaderLen is its length in bytes.
const RequestHeaderLen = 8

// ParseRequestHeader reads the header of a request's payload.
func ParseRequestHeader(payload []byte) (RequestHeader, error) {
	d := Decoder{buf: payload}
	h := RequestHeader{Xid: d.Int32(), Op: Op(d.Int32())}
	return h, d.err
}

// Append appends the header to dst.
func (h RequestHeader) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(h.Xid)
	e.Int32(int32(h.Op))
	return e.Buf
}

// ReplyHeader opens every reply and event after the handshake.
type ReplyHeader struct {
	Xid  int32
	Zxid int64
	Err  Code
}

// ReplyHeaderLen is its length in bytes.
const ReplyHeaderLen = 16

// ParseReplyHeader reads the header of a reply's payload.
func ParseReplyHeader(payload []byte) (ReplyHeader, error) {
	d := Decoder{buf: payload}
	h := ReplyHeader{Xid: d.Int32(), Zxid: d.Int64(), Err: Code(d.Int32())}
	return h, d.err
}

// Append appends the header to dst.
func (h ReplyHeader) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(h.Xid)
	e.Int64(h.Zxid)
	e.Int32(int32(h.Err))
	return e.Buf
}
