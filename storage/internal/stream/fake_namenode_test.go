package stream

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

const blockSize = 16 << 10

// fakeNameNode is a namenode.Caller that acts as a NameNode with one file.
type fakeNameNode struct {
	mu        sync.Mutex
	datanodes []*fakeDatanode
	blocks    []*pb.LocatedBlock
	nextBlock uint64
	calls     map[string]int
	// completions contains the encoded requests to complete the file.
	completions [][]byte
	// lengths are the lengths of the last block that fsync calls have reported.
	lengths []int64
	// pending is how many further complete calls reply that the last block is not reported yet.
	pending int
	// fails contains the errors that calls return, by method.
	fails map[string]error
}

func newNameNode(datanodes ...*fakeDatanode) *fakeNameNode {
	return &fakeNameNode{datanodes: datanodes, calls: map[string]int{}, fails: map[string]error{}}
}

func (n *fakeNameNode) options(t *testing.T) Options {
	return Options{NameNode: namenode.NewClient(n), User: "ann", Logger: logger(t), pause: time.Millisecond}
}

func (n *fakeNameNode) count(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[method]
}

func (n *fakeNameNode) Close() error { return nil }

func (n *fakeNameNode) Call(ctx context.Context, method string, request, response proto.Message, _ ...ipc.CallOption) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	encoded, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls[method]++
	if err := n.fails[method]; err != nil {
		return err
	}
	answer, err := n.answer(method, encoded)
	if err != nil {
		return err
	}
	encoded, err = proto.Marshal(answer)
	if err != nil {
		return err
	}
	return proto.Unmarshal(encoded, response)
}

func (n *fakeNameNode) answer(method string, request []byte) (proto.Message, error) {
	switch method {
	case "getServerDefaults":
		defaults := &pb.ServerDefaults{BlockSize: proto.Uint64(blockSize), Replication: proto.Uint32(2)}
		setUnknown(defaults, appendUint(appendUint(appendUint(nil, 2, 512), 3, 65536), 5, 4096))
		return &pb.GetServerDefaultsResponse{Defaults: defaults}, nil
	case "create":
		return &pb.CreateResponse{Status: n.status(0)}, nil
	case "abandonBlock", "renewLease", "delete":
		if method == "abandonBlock" {
			n.blocks = n.blocks[:len(n.blocks)-1]
		}
		return &pb.BoolResponse{Result: proto.Bool(true)}, nil
	case "fsync":
		flushed := &pb.FsyncRequest{}
		err := proto.Unmarshal(request, flushed)
		n.lengths = append(n.lengths, flushed.GetLastBlockLength())
		return &pb.Opaque{}, err
	case "addBlock":
		return n.addBlock(request)
	case "updateBlockForPipeline":
		return &pb.AddBlockResponse{Block: n.blocks[len(n.blocks)-1]}, nil
	case "complete":
		n.completions = append(n.completions, request)
		n.pending--
		return &pb.BoolResponse{Result: proto.Bool(n.pending < 0)}, nil
	case "getBlockLocations":
		return &pb.GetBlockLocationsResponse{Locations: n.locations()}, nil
	}
	return nil, fmt.Errorf("unexpected call of %s", method)
}

func (n *fakeNameNode) addBlock(encoded []byte) (proto.Message, error) {
	request := &pb.AddBlockRequest{}
	if err := proto.Unmarshal(encoded, request); err != nil {
		return nil, err
	}
	n.nextBlock++
	block := n.located(n.nextBlock)
	block.Datanodes = slices.DeleteFunc(block.Datanodes, func(d *pb.Datanode) bool {
		return slices.ContainsFunc(request.Excluded, func(e *pb.Datanode) bool { return e.Id.GetUuid() == d.Id.GetUuid() })
	})
	if len(block.Datanodes) == 0 {
		return nil, &ipc.RemoteError{Class: "java.io.IOException", Message: "could only be written to 0 of the 1 minReplication nodes"}
	}
	n.blocks = append(n.blocks, block)
	return &pb.AddBlockResponse{Block: block}, nil
}

func (n *fakeNameNode) located(id uint64) *pb.LocatedBlock {
	block := &pb.LocatedBlock{
		Block:   &pb.Block{PoolId: proto.String("pool"), BlockId: &id, GenerationStamp: proto.Uint64(1)},
		Offset:  proto.Uint64(0),
		Corrupt: proto.Bool(false),
	}
	for _, d := range n.datanodes {
		block.Datanodes = append(block.Datanodes, d.info())
	}
	// The block's token is a required field, which is empty on a cluster without Kerberos.
	setUnknown(block, appendBytes(nil, 5, appendBytes(appendBytes(appendBytes(appendBytes(nil, 1, nil), 2, nil), 3, nil), 4, nil)))
	return block
}

// locations returns the locations of the file's blocks: all datanodes, for each block.
func (n *fakeNameNode) locations() *pb.LocatedBlocks {
	located := &pb.LocatedBlocks{FileLength: proto.Uint64(0)}
	for _, b := range n.blocks {
		length := uint64(0)
		for _, d := range n.datanodes {
			d.set(func(d *fakeDatanode) { length = max(length, uint64(len(d.blocks[b.Block.GetBlockId()]))) })
		}
		b = proto.CloneOf(b)
		b.Offset, b.Block.Length = proto.Uint64(located.GetFileLength()), &length
		located.Blocks = append(located.Blocks, b)
		located.FileLength = proto.Uint64(located.GetFileLength() + length)
	}
	// The file is not under construction, and its last block is complete.
	setUnknown(located, appendUint(appendUint(nil, 3, 0), 5, 1))
	return located
}

// store stores a file's content on the datanodes.
func (n *fakeNameNode) store(content []byte) *pb.FileStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	for chunk := range slices.Chunk(content, blockSize) {
		n.nextBlock++
		for _, d := range n.datanodes {
			d.set(func(d *fakeDatanode) { d.blocks[n.nextBlock] = chunk })
		}
		n.blocks = append(n.blocks, n.located(n.nextBlock))
	}
	return n.status(len(content))
}

func (n *fakeNameNode) status(length int) *pb.FileStatus {
	return &pb.FileStatus{
		Type: pb.FileStatus_FILE.Enum(), Name: []byte{}, Length: proto.Uint64(uint64(length)),
		Permission: &pb.Permission{Mode: proto.Uint32(uint32(fs.FileMode(0o644)))},
		Owner:      proto.String("ann"), Group: proto.String("ann"),
		ModificationTime: proto.Uint64(0), AccessTime: proto.Uint64(0),
	}
}
