package wire

import "encoding/binary"

// Stream watches the bytes of a connection go by, in whatever pieces they come,
// and calls Head once per frame with the first want bytes of its payload (fewer
// only if the frame is shorter). It copies no more than that.
//
// The zero Stream is not ready: set Want and Head.
type Stream struct {
	Want int               // bytes of payload to show; at most 32
	Head func(head []byte) // called as soon as they have passed
	// BlankFrom and BlankTo bound what of each payload is overwritten with zeros
	// as it passes, within the first Want bytes; Head still sees it as it was.
	// Defaults to nothing.
	BlankFrom, BlankTo int

	buf  [4 + 32]byte
	have int // bytes of the current frame seen and kept in buf
	skip int // bytes of the current frame that still pass unseen
}

// Pass takes note of the next bytes of the connection, and blanks what it is told to.
func (s *Stream) Pass(p []byte) {
	for len(p) > 0 {
		if s.skip > 0 {
			n := min(s.skip, len(p))
			s.skip -= n
			p = p[n:]
			continue
		}
		need := 4
		size := 0
		if s.have >= 4 {
			size = int(binary.BigEndian.Uint32(s.buf[:4]))
			need = 4 + min(size, s.Want)
		}
		n := copy(s.buf[s.have:need], p)
		if from, to := max(4+s.BlankFrom-s.have, 0), min(4+s.BlankTo-s.have, n); from < to {
			clear(p[from:to])
		}
		s.have += n
		p = p[n:]
		if s.have == 4 && need == 4 {
			size = int(binary.BigEndian.Uint32(s.buf[:4]))
			need = 4 + min(size, s.Want)
		}
		if s.have >= 4 && s.have == need {
			head := s.buf[4:need]
			s.skip = size - len(head)
			s.have = 0
			s.Head(head)
		}
	}
}

// Between reports that what has passed ends with the end of a frame.
func (s *Stream) Between() bool { return s.have == 0 && s.skip == 0 }
