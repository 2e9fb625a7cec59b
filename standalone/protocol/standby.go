package protocol

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// StandbyError is how a master that does not lead refuses a call. leader is the
// leader's host:port, "" where it is not known.
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

// LeaderOf reports whether a call was refused by a master that does not lead,
// and the leader's host:port where that master knows it.
func LeaderOf(err error) (leader string, standby bool) {
	for _, detail := range status.Convert(err).Details() {
		if refusal, ok := detail.(*Standby); ok {
			return refusal.GetLeader(), true
		}
	}
	return "", false
}
