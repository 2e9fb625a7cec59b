package yarn

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ApplicationID is the id of an application.
type ApplicationID struct {
	ClusterTimestamp int64 // start time of the ResourceManager that assigned the id, in milliseconds since 1970
	Sequence         int32 // the application's number at that ResourceManager, from 1
}

// String returns the id's usual form, such as "application_1410901177871_0001".
func (id ApplicationID) String() string {
	return fmt.Sprintf("application_%d_%04d", id.ClusterTimestamp, id.Sequence)
}

// IsZero reports whether id is the zero value.
func (id ApplicationID) IsZero() bool { return id == ApplicationID{} }

// AttemptID is the id of an attempt of an application: a run of its ApplicationMaster.
type AttemptID struct {
	Application ApplicationID
	Attempt     int32 // the attempt's number, from 1
}

// String returns the id's usual form, such as "appattempt_1410901177871_0001_000001".
func (id AttemptID) String() string {
	return fmt.Sprintf("appattempt_%d_%04d_%06d", id.Application.ClusterTimestamp, id.Application.Sequence, id.Attempt)
}

// epochShift is the number of bits of ContainerID.ID that contain the sequence number. The
// higher bits contain the epoch (ContainerId.CONTAINER_ID_BITMASK).
const epochShift = 40

// ContainerID is the id of a container. It is comparable, so it can be the key of a map.
type ContainerID struct {
	Attempt AttemptID
	// ID has the container's sequence number in its low 40 bits. The higher bits are the
	// ResourceManager's epoch (see Epoch).
	ID int64
}

// Epoch returns the number of ResourceManager restarts before the id was assigned.
func (id ContainerID) Epoch() int64 { return id.ID >> epochShift }

// Sequence returns the container's number, from 1, within its attempt and epoch.
func (id ContainerID) Sequence() int64 { return id.ID & (1<<epochShift - 1) }

// String returns the id's usual form, such as "container_e17_1410901177871_0001_01_000005"
// for epoch 17. For epoch 0, the part "e17_" is missing.
func (id ContainerID) String() string {
	app, epoch := id.Attempt.Application, ""
	if e := id.Epoch(); e > 0 {
		epoch = fmt.Sprintf("e%02d_", e)
	}
	return fmt.Sprintf("container_%s%d_%04d_%02d_%06d", epoch, app.ClusterTimestamp, app.Sequence, id.Attempt.Attempt, id.Sequence())
}

// NodeID is the id of a NodeManager: the address of its RPC server.
type NodeID struct {
	Host string
	Port int32
}

// String returns "host:port".
func (id NodeID) String() string { return net.JoinHostPort(id.Host, strconv.Itoa(int(id.Port))) }

// ParseApplicationID parses an id in the format of ApplicationID.String.
func ParseApplicationID(s string) (ApplicationID, error) {
	n, err := parseID(s, "application", 63, 31)
	if err != nil {
		return ApplicationID{}, err
	}
	return ApplicationID{ClusterTimestamp: n[0], Sequence: int32(n[1])}, nil
}

// ParseAttemptID parses an id in the format of AttemptID.String.
func ParseAttemptID(s string) (AttemptID, error) {
	n, err := parseID(s, "appattempt", 63, 31, 31)
	if err != nil {
		return AttemptID{}, err
	}
	return AttemptID{Application: ApplicationID{ClusterTimestamp: n[0], Sequence: int32(n[1])}, Attempt: int32(n[2])}, nil
}

// ParseContainerID parses an id in the format of ContainerID.String, with or without an epoch.
func ParseContainerID(s string) (ContainerID, error) {
	rest, epoch := s, int64(0)
	if after, ok := strings.CutPrefix(s, "container_e"); ok {
		digits, tail, found := strings.Cut(after, "_")
		e, err := strconv.ParseUint(digits, 10, 63-epochShift)
		if !found || err != nil {
			return ContainerID{}, malformedID(s, "container")
		}
		rest, epoch = "container_"+tail, int64(e)
	}
	n, err := parseID(rest, "container", 63, 31, 31, epochShift)
	if err != nil {
		return ContainerID{}, malformedID(s, "container")
	}
	attempt := AttemptID{Application: ApplicationID{ClusterTimestamp: n[0], Sequence: int32(n[1])}, Attempt: int32(n[2])}
	return ContainerID{Attempt: attempt, ID: epoch<<epochShift | n[3]}, nil
}

// parseID returns the numbers in "prefix_n_n…". For each number, bits has an element: the most
// bits that the number may have. Negative numbers are malformed.
func parseID(s, prefix string, bits ...int) ([]int64, error) {
	parts := strings.Split(s, "_")
	if len(parts) != len(bits)+1 || parts[0] != prefix {
		return nil, malformedID(s, prefix)
	}
	numbers := make([]int64, len(bits))
	for i, part := range parts[1:] {
		n, err := strconv.ParseUint(part, 10, bits[i])
		if err != nil {
			return nil, malformedID(s, prefix)
		}
		numbers[i] = int64(n)
	}
	return numbers, nil
}

func malformedID(s, kind string) error {
	example := map[string]string{
		"application": "application_1410901177871_0001",
		"appattempt":  "appattempt_1410901177871_0001_000001",
		"container":   "container_1410901177871_0001_01_000001",
	}
	return fmt.Errorf("%q is no %s id: it looks like %s", s, kind, example[kind])
}

// ParseNodeID parses "host:port".
func ParseNodeID(s string) (NodeID, error) {
	host, portText, err := net.SplitHostPort(s)
	if err != nil {
		return NodeID{}, fmt.Errorf("%q is no node id, which is host:port: %w", s, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || host == "" {
		return NodeID{}, fmt.Errorf("%q is no node id, which is host:port", s)
	}
	return NodeID{Host: host, Port: int32(port)}, nil
}

func (id ApplicationID) proto() *pb.ApplicationId {
	return &pb.ApplicationId{Id: &id.Sequence, ClusterTimestamp: &id.ClusterTimestamp}
}

func (id AttemptID) proto() *pb.ApplicationAttemptId {
	return &pb.ApplicationAttemptId{ApplicationId: id.Application.proto(), AttemptId: &id.Attempt}
}

// proto leaves the deprecated field application_id unset, as Hadoop's clients do.
func (id ContainerID) proto() *pb.ContainerId {
	return &pb.ContainerId{AttemptId: id.Attempt.proto(), Id: proto.Int64(id.ID)}
}

func applicationID(p *pb.ApplicationId) ApplicationID {
	return ApplicationID{ClusterTimestamp: p.GetClusterTimestamp(), Sequence: p.GetId()}
}

func attemptID(p *pb.ApplicationAttemptId) AttemptID {
	return AttemptID{Application: applicationID(p.GetApplicationId()), Attempt: p.GetAttemptId()}
}

func containerID(p *pb.ContainerId) ContainerID {
	return ContainerID{Attempt: attemptID(p.GetAttemptId()), ID: p.GetId()}
}

func nodeID(p *pb.NodeId) NodeID { return NodeID{Host: p.GetHost(), Port: p.GetPort()} }

// convert returns the results of f for all items; nil if items is nil.
func convert[A, B any](items []A, f func(A) B) []B {
	if items == nil {
		return nil
	}
	out := make([]B, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}
