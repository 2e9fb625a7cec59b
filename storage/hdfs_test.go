package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

func TestBinarySize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "134217728": 128 << 20, "128m": 128 << 20, " 1G ": 1 << 30, "2k": 2 << 10, "1t": 1 << 40} {
		got, err := binarySize(conf.FromMap(map[string]string{"dfs.blocksize": text}), "dfs.blocksize")
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"m", "-1", "0", "1.5m", "99999999t", "128 MB"} {
		_, err := binarySize(conf.FromMap(map[string]string{"dfs.blocksize": text}), "dfs.blocksize")
		require.ErrorContains(t, err, "dfs.blocksize", text)
	}
}

func TestInvalidConfigurations(t *testing.T) {
	for want, settings := range map[string]map[string]string{
		"asks for Kerberos":                     {"hadoop.security.authentication": "kerberos"},
		"dfs.namenode.rpc-address.cluster1.nn1": {"dfs.nameservices": "cluster1", "dfs.ha.namenodes.cluster1": "nn1"},
		"dfs.replication":                       {"dfs.replication": "many"},
		"dfs.blocksize":                         {"dfs.blocksize": "large"},
		"dfs.client.socket-timeout":             {"dfs.client.socket-timeout": "long"},
	} {
		files := New(Options{Hadoop: conf.FromMap(settings), User: "ann"})
		_, err := files.Stat(t.Context(), "hdfs://cluster1/a")
		require.ErrorContains(t, err, want)
		require.NoError(t, files.Close())
	}
}

func TestUnreachableNameNodeIsNamed(t *testing.T) {
	files := New(Options{Hadoop: conf.FromMap(nil), User: "ann", Timeout: 300 * time.Millisecond})
	// No process listens on the discard port.
	_, err := files.Stat(t.Context(), "hdfs://127.0.0.1:9/a")
	require.ErrorContains(t, err, "127.0.0.1:9")
	require.ErrorContains(t, err, "connection refused")
	require.Regexp(t, `after \d+(\.\d+)?m?s in \d+ tries`, err.Error())
	require.NoError(t, files.Close())
}

func TestFilesThatCannotBeReadAreRefused(t *testing.T) {
	for want, status := range map[string]*pb.FileStatus{
		"encryption zone": {Type: pb.FileStatus_FILE.Enum(), Encryption: &pb.Opaque{}},
		"RS-6-3-1024k":    {Type: pb.FileStatus_FILE.Enum(), ErasureCoding: &pb.ErasureCodingPolicy{Name: proto.String("RS-6-3-1024k")}},
		"is a directory":  {Type: pb.FileStatus_DIRECTORY.Enum()},
	} {
		require.ErrorContains(t, readable(status), want)
	}
	require.NoError(t, readable(&pb.FileStatus{Type: pb.FileStatus_FILE.Enum()}))
}

func TestBlocksWithoutAGoodCopyHaveNoHosts(t *testing.T) {
	located := func(offset uint64, corrupt bool) *pb.LocatedBlock {
		return &pb.LocatedBlock{
			Block: &pb.Block{Length: proto.Uint64(10)}, Offset: &offset, Corrupt: &corrupt,
			Datanodes: []*pb.Datanode{{Id: &pb.DatanodeID{HostName: proto.String("h")}}},
		}
	}
	status := &pb.FileStatus{Locations: &pb.LocatedBlocks{Blocks: []*pb.LocatedBlock{located(0, false), located(10, true)}}}
	require.Equal(t, []block{{0, 10, []string{"h"}}, {10, 10, nil}}, blocksOf(status))
}
