package yarntest

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

func applicationIDProto(id yarn.ApplicationID) *pb.ApplicationId {
	return &pb.ApplicationId{Id: proto.Int32(id.Sequence), ClusterTimestamp: proto.Int64(id.ClusterTimestamp)}
}

func applicationIDOf(p *pb.ApplicationId) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: p.GetClusterTimestamp(), Sequence: p.GetId()}
}

func attemptIDProto(id yarn.AttemptID) *pb.ApplicationAttemptId {
	return &pb.ApplicationAttemptId{ApplicationId: applicationIDProto(id.Application), AttemptId: proto.Int32(id.Attempt)}
}

func attemptIDOf(p *pb.ApplicationAttemptId) yarn.AttemptID {
	return yarn.AttemptID{Application: applicationIDOf(p.GetApplicationId()), Attempt: p.GetAttemptId()}
}

func containerIDProto(id yarn.ContainerID) *pb.ContainerId {
	return &pb.ContainerId{AttemptId: attemptIDProto(id.Attempt), Id: proto.Int64(id.ID)}
}

func containerIDOf(p *pb.ContainerId) yarn.ContainerID {
	return yarn.ContainerID{Attempt: attemptIDOf(p.GetAttemptId()), ID: p.GetId()}
}

func nodeIDProto(id yarn.NodeID) *pb.NodeId {
	return &pb.NodeId{Host: proto.String(id.Host), Port: proto.Int32(id.Port)}
}

func resourceProto(r yarn.Resource) *pb.Resource {
	p := &pb.Resource{Memory: proto.Int64(r.MemoryMB), VirtualCores: proto.Int32(r.VCores)}
	for _, name := range slices.Sorted(maps.Keys(r.Others)) {
		p.Values = append(p.Values, &pb.ResourceInformation{Key: proto.String(name), Value: proto.Int64(r.Others[name])})
	}
	return p
}

func resourceOf(p *pb.Resource) yarn.Resource {
	r := yarn.Resource{MemoryMB: p.GetMemory(), VCores: p.GetVirtualCores()}
	for _, information := range p.GetValues() {
		switch name := information.GetKey(); name {
		case "memory-mb", "vcores":
		default:
			if r.Others == nil {
				r.Others = map[string]int64{}
			}
			r.Others[name] = information.GetValue()
		}
	}
	return r
}

// add returns a + sign*b.
func add(a, b yarn.Resource, sign int64) yarn.Resource {
	sum := yarn.Resource{MemoryMB: a.MemoryMB + sign*b.MemoryMB, VCores: a.VCores + int32(sign)*b.VCores, Others: a.Others}
	if len(b.Others) > 0 {
		sum.Others = maps.Clone(a.Others)
		if sum.Others == nil {
			sum.Others = map[string]int64{}
		}
		for name, amount := range b.Others {
			sum.Others[name] += sign * amount
		}
	}
	return sum
}

func executionTypeProto(t yarn.ExecutionType) *pb.ExecutionType {
	if t == yarn.Opportunistic {
		return pb.ExecutionType_EXECUTION_OPPORTUNISTIC.Enum()
	}
	return pb.ExecutionType_EXECUTION_GUARANTEED.Enum()
}

func executionTypeOf(p pb.ExecutionType) yarn.ExecutionType {
	if p == pb.ExecutionType_EXECUTION_OPPORTUNISTIC {
		return yarn.Opportunistic
	}
	return yarn.Guaranteed
}
