package wire

// ConnectRequest is the client's first frame.
type ConnectRequest struct {
	Protocol  int32
	LastZxid  int64
	TimeoutMs int32
	Session   int64
	Password  []byte
	// ReadOnly is sent by clients since 3.4; HasReadOnly says whether it was.
	ReadOnly, HasReadOnly bool
}

// ParseConnectRequest reads a ConnectRequest's payload.
func ParseConnectRequest(payload []byte) (ConnectRequest, error) {
	d := Decoder{buf: payload}
	r := ConnectRequest{Protocol: d.Int32(), LastZxid: d.Int64(), TimeoutMs: d.Int32(), Session: d.Int64(), Password: d.Buffer()}
	if d.err == nil && d.Len() > 0 {
		r.ReadOnly, r.HasReadOnly = d.Bool(), true
	}
	return r, d.err
}

// Append appends the payload to dst.
func (r ConnectRequest) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(r.Protocol)
	e.Int64(r.LastZxid)
	e.Int32(r.TimeoutMs)
	e.Int64(r.Session)
	e.Buffer(r.Password)
	if r.HasReadOnly {
		e.Bool(r.ReadOnly)
	}
	return e.Buf
}

// ConnectResponse is the server's first frame. Session 0 says that the session
// asked for is not known, or no longer.
type ConnectResponse struct {
	Protocol  int32
	TimeoutMs int32
	Session   int64
	Password  []byte
	// ReadOnly is answered only to a client that sent its own.
	ReadOnly, HasReadOnly bool
}

// ParseConnectResponse reads a ConnectResponse's payload.
func ParseConnectResponse(payload []byte) (ConnectResponse, error) {
	d := Decoder{buf: payload}
	r := ConnectResponse{Protocol: d.Int32(), TimeoutMs: d.Int32(), Session: d.Int64(), Password: d.Buffer()}
	if d.err == nil && d.Len() > 0 {
		r.ReadOnly, r.HasReadOnly = d.Bool(), true
	}
	return r, d.err
}

// Append appends the payload to dst.
func (r ConnectResponse) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(r.Protocol)
	e.Int32(r.TimeoutMs)
	e.Int64(r.Session)
	e.Buffer(r.Password)
	if r.HasReadOnly {
		e.Bool(r.ReadOnly)
	}
	return e.Buf
}
