package yarn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

var (
	application = ApplicationID{ClusterTimestamp: 1410901177871, Sequence: 1}
	attempt     = AttemptID{Application: application, Attempt: 1}
)

// containerNumber returns the ContainerID of attempt whose field ID, which has the epoch and the
// sequence number, is n.
func containerNumber(n int64) ContainerID { return ContainerID{Attempt: attempt, ID: n} }

func TestIDsReadAsJavaWritesThem(t *testing.T) {
	require.Equal(t, "application_1410901177871_0001", application.String())
	require.Equal(t, "appattempt_1410901177871_0001_000001", attempt.String())
	for want, id := range map[string]ContainerID{
		"container_1410901177871_0001_01_000005": containerNumber(5),
		// For this id, getContainerId of Hadoop's ContainerId returns 18691697672197.
		"container_e17_1410901177871_0001_01_000005":      containerNumber(18691697672197),
		"container_e03_1410901177871_0001_01_000001":      containerNumber(3<<40 | 1),
		"container_e100_1410901177871_0001_01_1000000":    containerNumber(100<<40 | 1000000),
		"container_1410901177871_12345_1234567_123456789": {AttemptID{ApplicationID{1410901177871, 12345}, 1234567}, 123456789},
	} {
		require.Equal(t, want, id.String())
		got, err := ParseContainerID(want)
		require.NoError(t, err)
		require.Equal(t, id, got)
	}
	require.EqualValues(t, 17, containerNumber(18691697672197).Epoch())
	require.EqualValues(t, 5, containerNumber(18691697672197).Sequence())
}

func TestIDsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ContainerID{
			Attempt: AttemptID{
				Application: ApplicationID{
					ClusterTimestamp: rapid.Int64Min(0).Draw(t, "timestamp"),
					Sequence:         rapid.Int32Min(0).Draw(t, "application"),
				},
				Attempt: rapid.Int32Min(0).Draw(t, "attempt"),
			},
			ID: rapid.Int64Min(0).Draw(t, "container"),
		}
		got, err := ParseContainerID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, got)
		require.Equal(t, id, containerID(id.proto()))
		attempt, err := ParseAttemptID(id.Attempt.String())
		require.NoError(t, err)
		require.Equal(t, id.Attempt, attempt)
		application, err := ParseApplicationID(id.Attempt.Application.String())
		require.NoError(t, err)
		require.Equal(t, id.Attempt.Application, application)
	})
}

func TestMalformedIDs(t *testing.T) {
	for _, s := range []string{
		"", "container", "container_", "container_1_1_1", "container_1_1_1_1_1", "container_e_1_1_1_1", "container_e1",
		"container_x1_1_1_1_1", "container_e-1_1_1_1_1", "container_e8388608_1_1_1_1", "container_-1_1_1_1",
		"container_1_1_1_1099511627776", "container_1_2147483648_1_1", "container_1_1_1_1 ", "Container_1_1_1_1",
	} {
		_, err := ParseContainerID(s)
		require.ErrorContains(t, err, "is no container id", s)
	}
	_, err := ParseApplicationID("application_1")
	require.EqualError(t, err, `"application_1" is no application id: it looks like application_1410901177871_0001`)
	_, err = ParseAttemptID("application_1_1")
	require.ErrorContains(t, err, "is no appattempt id")
}

func TestNodeID(t *testing.T) {
	for s, want := range map[string]NodeID{
		"node1:45454": {"node1", 45454},
		"[::1]:80":    {"::1", 80},
	} {
		got, err := ParseNodeID(s)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, s, got.String())
	}
	for _, s := range []string{"", "node1", "node1:", ":80", "node1:x", "node1:65536", "node1:-1"} {
		_, err := ParseNodeID(s)
		require.ErrorContains(t, err, "is no node id", s)
	}
}

func FuzzParseContainerID(f *testing.F) {
	f.Add("container_e17_1410901177871_0001_01_000005")
	f.Add("container_1410901177871_0001_01_000005")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseContainerID(s)
		if err != nil {
			return
		}
		again, err := ParseContainerID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, again)
	})
}

func TestResource(t *testing.T) {
	r := Resource{MemoryMB: 2048, VCores: 3, Others: map[string]int64{"yarn.io/gpu": 1, "fpga": 2}}
	require.Equal(t, "2048 MB, 3 vcores, 2 fpga, 1 yarn.io/gpu", r.String())
	require.Equal(t, r, resource(r.proto()))

	// Daemons send every resource type in the list of values, including memory and cores.
	name, unit, gpu, gpus := "memory-mb", "Mi", "yarn.io/gpu", int64(4)
	fromDaemon := &pb.Resource{Memory: &r.MemoryMB, VirtualCores: &r.VCores, Values: []*pb.ResourceInformation{
		{Key: &name, Value: &r.MemoryMB, Units: &unit}, {Key: &gpu, Value: &gpus},
	}}
	require.Equal(t, Resource{MemoryMB: 2048, VCores: 3, Others: map[string]int64{"yarn.io/gpu": 4}}, resource(fromDaemon))
	require.Empty(t, cmp.Diff((&pb.Resource{Memory: &r.MemoryMB, VirtualCores: &r.VCores}), Resource{MemoryMB: 2048, VCores: 3}.proto(), protocmp.Transform()))

	small, large := Resource{MemoryMB: 1, VCores: 1}, Resource{MemoryMB: 2, VCores: 1, Others: map[string]int64{"gpu": 1}}
	require.True(t, small.Fits(large))
	require.False(t, large.Fits(small))
	require.False(t, Resource{VCores: 2}.Fits(small))
	require.False(t, Resource{Others: map[string]int64{"gpu": 1}}.Fits(small))
	require.True(t, small.Equal(Resource{MemoryMB: 1, VCores: 1, Others: map[string]int64{"gpu": 0}}))
	require.False(t, small.Equal(large))
}

func TestExitStatus(t *testing.T) {
	for status, want := range map[ExitStatus]string{
		0:     "0 (success)",
		1:     "1 (exited with code 1)",
		137:   "137 (ended by signal 9 (killed))",
		143:   "143 (ended by signal 15 (terminated))",
		255:   "255 (exited with code 255)",
		-100:  "-100 (aborted: released by the application, or its node was lost)",
		-104:  "-104 (killed for exceeding its physical memory)",
		-106:  "-106 (killed by the ResourceManager)",
		-1000: "-1000 (not ended)",
		-5:    "-5 (a status that YARN does not document)",
	} {
		require.Equal(t, want, status.String())
	}
}
