package yarn

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// AMRMIdentifier is what an AMRMToken says.
type AMRMIdentifier struct {
	Attempt AttemptID
	// KeyID is that of the master key, which the ResourceManager rolls.
	KeyID int32
}

// NMIdentifier is what an NMToken says.
type NMIdentifier struct {
	Attempt AttemptID
	Node    NodeID
	// User is who submitted the application.
	User  string
	KeyID int32
}

// ContainerIdentifier is what a container token says.
type ContainerIdentifier struct {
	Container ContainerID
	// NodeAddress is the host:port of the node that takes the token.
	NodeAddress string
	// User is who submitted the application.
	User     string
	Resource Resource
	Priority int32
	// Created is when the container was allocated; by Expires it must be started.
	Created time.Time
	Expires time.Time
	KeyID   int32
	// RMIdentifier is when the ResourceManager that allocated started, in
	// milliseconds since 1970. Nodes refuse tokens of another than theirs.
	RMIdentifier  int64
	ExecutionType ExecutionType
	Version       int32
}

// ParseAMRMIdentifier reads the identifier of a token of kind KindAMRM.
func ParseAMRMIdentifier(token security.Token) (AMRMIdentifier, error) {
	p := &pb.AMRMTokenIdentifier{}
	if err := parseIdentifier(token, security.KindAMRM, p); err != nil {
		return AMRMIdentifier{}, err
	}
	return AMRMIdentifier{Attempt: attemptID(p.GetAttemptId()), KeyID: p.GetKeyId()}, nil
}

// ParseNMIdentifier reads the identifier of a token of kind KindNM.
func ParseNMIdentifier(token security.Token) (NMIdentifier, error) {
	p := &pb.NMTokenIdentifier{}
	if err := parseIdentifier(token, security.KindNM, p); err != nil {
		return NMIdentifier{}, err
	}
	return NMIdentifier{
		Attempt: attemptID(p.GetAttemptId()),
		Node:    nodeID(p.GetNodeId()),
		User:    p.GetSubmitter(),
		KeyID:   p.GetKeyId(),
	}, nil
}

// ParseContainerIdentifier reads the identifier of a token of kind
// KindContainer.
func ParseContainerIdentifier(token security.Token) (ContainerIdentifier, error) {
	p := &pb.ContainerTokenIdentifier{}
	if err := parseIdentifier(token, security.KindContainer, p); err != nil {
		return ContainerIdentifier{}, err
	}
	return ContainerIdentifier{
		Container:     containerID(p.GetContainerId()),
		NodeAddress:   p.GetNodeAddress(),
		User:          p.GetSubmitter(),
		Resource:      resource(p.GetResource()),
		Priority:      p.GetPriority().GetPriority(),
		Created:       time.UnixMilli(p.GetCreationTime()),
		Expires:       time.UnixMilli(p.GetExpiryTime()),
		KeyID:         p.GetMasterKeyId(),
		RMIdentifier:  p.GetRmIdentifier(),
		ExecutionType: executionType(p.GetExecutionType()),
		Version:       p.GetVersion(),
	}, nil
}

func parseIdentifier(token security.Token, kind string, message proto.Message) error {
	if token.Kind != kind {
		return fmt.Errorf("%v: a token of kind %q is needed here", token, kind)
	}
	if err := proto.Unmarshal(token.Identifier, message); err != nil {
		return fmt.Errorf("identifier of %v: %w", token, err)
	}
	return nil
}
