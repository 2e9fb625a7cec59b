package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Refusal is the error of a call to a master, with the master's address.
type Refusal struct {
	Master string
	Err    error
}

// IsFinal reports whether a retry with the same master is useless, because the master leads
// and refuses the call.
func IsFinal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.NotFound, codes.AlreadyExists,
		codes.Unimplemented, codes.OutOfRange:
		return true
	}
	return false
}

// isDistrust reports whether the TLS handshake failed, which gRPC reports as a failed
// connection. The usual reason is that the two sides have different secrets or do not trust
// each other's certificates.
func isDistrust(err error) bool {
	text := status.Convert(err).Message()
	return status.Code(err) == codes.Unavailable &&
		(strings.Contains(text, "authentication handshake failed") || strings.Contains(text, "remote error: tls"))
}

// AllDistrust reports whether the TLS handshake failed in every call.
func AllDistrust(refusals []Refusal) bool {
	return len(refusals) > 0 && !slices.ContainsFunc(refusals, func(r Refusal) bool { return !isDistrust(r.Err) })
}

// Explain returns an error for users with the call's status code. The text contains a remedy
// if one is known.
func (r Refusal) Explain() error {
	_, standby := LeaderOf(r.Err)
	message := status.Convert(r.Err).Message()
	text := fmt.Sprintf("master %s: %s", r.Master, message)
	switch {
	case isDistrust(r.Err):
		text = fmt.Sprintf("master %s does not trust this side, or is no bobbin master: both need the same ~/.bobbin/secret, "+
			"authenticate.secretFile, BOBBIN_AUTHENTICATE_SECRET or certificates (%s)", r.Master, message)
	case status.Code(r.Err) == codes.Unavailable && !standby:
		text = fmt.Sprintf("master %s cannot be reached: is it running? (%s)", r.Master, message)
	}
	return &explainedError{text, r.Err}
}

// explainedError replaces the text of an error.
type explainedError struct {
	text string
	err  error
}

func (e *explainedError) Error() string { return e.text }
func (e *explainedError) Unwrap() error { return e.err }

// ExplainAll returns an error that joins the explanations of several masters' refusals.
func ExplainAll(refusals []Refusal) error {
	var texts []string
	for _, r := range refusals {
		texts = append(texts, r.Explain().Error())
	}
	return errors.New(strings.Join(texts, "; "))
}

// StandbyError returns the error with which a standby refuses calls. leader is the host:port
// of the leader, "" if it is unknown.
func StandbyError(leader string) error {
	text := "this master is a standby, and knows no leader"
	if leader != "" {
		text = "this master is a standby, the leader is " + leader
	}
	refusal := status.New(codes.FailedPrecondition, text)
	if detailed, err := refusal.WithDetails(&Standby{Leader: leader}); err == nil {
		refusal = detailed
	}
	return refusal.Err()
}

// LeaderOf reports whether err is a StandbyError, and returns the leader's address from it.
func LeaderOf(err error) (leader string, standby bool) {
	for _, detail := range status.Convert(err).Details() {
		if refusal, ok := detail.(*Standby); ok {
			return refusal.GetLeader(), true
		}
	}
	return "", false
}
