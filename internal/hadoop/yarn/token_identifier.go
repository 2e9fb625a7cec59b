package yarn

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ContainerIdentifier is the decoded identifier of a container token.
type ContainerIdentifier struct {
	Container   ContainerID
	NodeAddress string // host:port of the NodeManager that accepts the token
	User        string // user who submitted the application
	Resource    Resource
	Priority    int32
	// Created is the time of the container's allocation. The container must be started before
	// Expires.
	Created time.Time
	Expires time.Time
	KeyID   int32
	// RMIdentifier is the ResourceManager's start time, in milliseconds since 1970.
	// NodeManagers refuse tokens from before the ResourceManager's last restart.
	RMIdentifier  int64
	ExecutionType ExecutionType
	Version       int32
}

// ParseContainerIdentifier decodes the identifier of a security.KindContainer token.
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
