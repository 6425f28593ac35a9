package grpcfence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

const domain = "zkfence.github.io"

// reason is one kind of refusal.
type reason struct {
	name string
	code codes.Code
	is   error
}

// reasons in the order in which an error is looked through. UNKNOWN_OUTCOME comes
// first: an error can say that and more.
var reasons = []reason{
	{"UNKNOWN_OUTCOME", codes.Unknown, fencing.ErrUnknownOutcome},
	{"STALE", codes.FailedPrecondition, fencing.ErrStale},
	{"SUPERSEDED", codes.FailedPrecondition, fencing.ErrSuperseded},
	{"DUPLICATE", codes.AlreadyExists, fencing.ErrDuplicate},
	{"STAMP_MISSING", codes.FailedPrecondition, ErrNoStamp},
	{"STAMP_MALFORMED", codes.InvalidArgument, ErrBadStamp},
	{"ZERO_TOKEN", codes.InvalidArgument, fencing.ErrZeroToken},
	{"ZERO_SEQ", codes.InvalidArgument, fencing.ErrZeroSeq},
	{"BAD_RESOURCE", codes.InvalidArgument, fencing.ErrBadResource},
	{"BAD_OP", codes.InvalidArgument, fencing.ErrBadOpID},
}

// toStatus is the guard's own answer.
func toStatus(err error) error {
	info := &errdetails.ErrorInfo{Domain: domain, Reason: "NOT_RUN", Metadata: make(map[string]string)}
	code := codes.Internal
	if errors.Is(err, door.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code = codes.Unavailable
	}
	for _, r := range reasons {
		if errors.Is(err, r.is) {
			info.Reason, code = r.name, r.code
			break
		}
	}
	details := []protoadapt.MessageV1{}
	var stale *fencing.StaleError
	if errors.As(err, &stale) {
		info.Metadata["resource"] = stale.Resource
		info.Metadata["presented"] = stale.Presented.String()
		info.Metadata["highest"] = stale.Highest.String()
	}
	var unsettled *door.UnsettledError
	if errors.As(err, &unsettled) && info.Reason == "NOT_RUN" {
		info.Reason, code = "UNSETTLED", codes.Unavailable
		info.Metadata["resource"] = unsettled.Resource
		info.Metadata["lost"] = unsettled.Lost.String()
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(unsettled.Wait)})
	}
	s := status.New(code, strings.ToValidUTF8(err.Error(), "?"))
	detailed, failed := s.WithDetails(append(details, info)...)
	if failed != nil {
		return s.Err() // its code says the most of it
	}
	return detailed.Err()
}

// disown takes from a handler's error what a client would take for this guard's word,
// of a guard further down: with {7,1} not applied here, that one's DUPLICATE would be
// told as a success.
func disown(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	p := s.Proto() // a copy
	before := len(p.GetDetails())
	p.Details = slices.DeleteFunc(p.GetDetails(), func(detail *anypb.Any) bool {
		info := new(errdetails.ErrorInfo)
		return detail.MessageIs(info) && detail.UnmarshalTo(info) == nil && info.GetDomain() == domain
	})
	if len(p.GetDetails()) == before {
		return err
	}
	return status.ErrorProto(p)
}

// refusal is what a client gets: fencing's error, which still has its status.
type refusal struct {
	error
	status *status.Status
}

func (r *refusal) Unwrap() error { return r.error }

// GRPCStatus is for status.FromError.
func (r *refusal) GRPCStatus() *status.Status { return r.status }

// fromStatus is the way back; nil if err is no word of the guard's.
func fromStatus(err error, asked fencing.Stamp) error {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	var info *errdetails.ErrorInfo
	var wait time.Duration
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == domain {
				info = d
			}
		case *errdetails.RetryInfo:
			wait = d.GetRetryDelay().AsDuration()
		}
	}
	if info == nil {
		return nil
	}
	return &refusal{meaning(info, wait, s.Message(), asked), s}
}

func meaning(info *errdetails.ErrorInfo, wait time.Duration, text string, asked fencing.Stamp) error {
	md := info.GetMetadata()
	if info.GetReason() == "UNSETTLED" {
		lost, err := fencing.ParseStamp(md["lost"])
		if err != nil {
			return fmt.Errorf("%w: %s", ErrNotRun, text)
		}
		return &door.UnsettledError{Resource: md["resource"], Lost: lost, Wait: wait}
	}
	for _, r := range reasons {
		if r.name != info.GetReason() {
			continue
		}
		presented, perr := fencing.ParseStamp(md["presented"])
		highest, herr := fencing.ParseStamp(md["highest"])
		stale := &fencing.StaleError{Resource: md["resource"], Presented: presented, Highest: highest}
		switch {
		case r.code != codes.FailedPrecondition && r.code != codes.AlreadyExists && r.code != codes.Unknown, errors.Is(r.is, ErrNoStamp):
			return fmt.Errorf("%w: %s", r.is, text)
		case perr != nil || herr != nil:
			if r.code == codes.Unknown {
				return fmt.Errorf("%w: %s", r.is, text)
			}
		case presented != asked:
		case r.code == codes.Unknown:
			return fmt.Errorf("%w: %w", r.is, stale)
		case errors.Is(stale, r.is):
			return stale
		}
		// Somebody between could answer one with what was another's.
		return fmt.Errorf("grpcfence: %w: %s about %q, remembered %q, to a command with %s: not this guard's answer", fencing.ErrUnknownOutcome, r.name, md["presented"], md["highest"], asked)
	}
	if info.GetReason() == "NOT_RUN" {
		return fmt.Errorf("%w: %s", ErrNotRun, text)
	}
	// Of a later version: it can be the word on something that has run.
	return fmt.Errorf("grpcfence: %w: the reason %q is none that this version knows: %s", fencing.ErrUnknownOutcome, info.GetReason(), text)
}
