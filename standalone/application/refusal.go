package application

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// refusal is a master that did not do what it was asked for.
type refusal struct {
	master string
	err    error
}

// isFinal reports whether another try with the same master cannot help: it
// leads, and refuses what it was told.
func isFinal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.NotFound, codes.AlreadyExists,
		codes.Unimplemented, codes.OutOfRange:
		return true
	}
	return false
}

// isDistrust reports whether the two sides do not have the same credentials,
// which gRPC tells as a connection that cannot be made.
func isDistrust(err error) bool {
	text := status.Convert(err).Message()
	return status.Code(err) == codes.Unavailable &&
		(strings.Contains(text, "authentication handshake failed") || strings.Contains(text, "remote error: tls"))
}

func allDistrust(refusals []refusal) bool {
	return len(refusals) > 0 && !slices.ContainsFunc(refusals, func(r refusal) bool { return !isDistrust(r.err) })
}

// explain puts a refusal into words for people.
func (r refusal) explain() error {
	_, standby := protocol.LeaderOf(r.err)
	said := status.Convert(r.err).Message()
	switch {
	case isDistrust(r.err):
		return fmt.Errorf("master %s does not trust this side, or is no bobbin master: both need the same ~/.bobbin/secret, "+
			"authenticate.secretFile, BOBBIN_AUTHENTICATE_SECRET or certificates (%s)", r.master, said)
	case status.Code(r.err) == codes.Unavailable && !standby:
		return fmt.Errorf("master %s cannot be reached: is it running? (%s)", r.master, said)
	}
	return fmt.Errorf("master %s: %s", r.master, said)
}

// explainAll joins what several masters said.
func explainAll(refusals []refusal) error {
	var said []string
	for _, r := range refusals {
		said = append(said, r.explain().Error())
	}
	return errors.New(strings.Join(said, "; "))
}
