package namenode

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	ipcpb "github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

// callerFunc is a Caller that calls a function.
type callerFunc func(method string, request proto.Message) (proto.Message, error)

func (f callerFunc) Close() error { return nil }

func (f callerFunc) Call(_ context.Context, method string, request, response proto.Message, _ ...ipc.CallOption) error {
	answer, err := f(method, request)
	if err != nil {
		return err
	}
	encoded, err := proto.Marshal(answer)
	if err != nil {
		return err
	}
	return proto.Unmarshal(encoded, response)
}

func status(name string) *pb.FileStatus {
	return &pb.FileStatus{
		Type: pb.FileStatus_FILE.Enum(), Name: []byte(name), Length: proto.Uint64(1),
		Permission: &pb.Permission{Mode: proto.Uint32(0o644)}, Owner: proto.String("o"), Group: proto.String("g"),
		ModificationTime: proto.Uint64(0), AccessTime: proto.Uint64(0),
	}
}

func TestListAsksUntilNothingRemains(t *testing.T) {
	var after []string
	c := NewClient(callerFunc(func(_ string, request proto.Message) (proto.Message, error) {
		r := request.(*pb.GetListingRequest)
		require.True(t, r.GetNeedLocation())
		after = append(after, string(r.StartAfter))
		batch := len(after)
		return &pb.GetListingResponse{Listing: &pb.Listing{
			Entries:   []*pb.FileStatus{status(fmt.Sprintf("a%d", batch)), status(fmt.Sprintf("b%d", batch))},
			Remaining: proto.Uint32(uint32(6 - 2*batch)),
		}}, nil
	}))
	entries, err := c.List(t.Context(), "/dir", true)
	require.NoError(t, err)
	require.Len(t, entries, 6)
	require.Equal(t, []string{"", "b1", "b2"}, after)
}

func TestMissingFilesAreErrNotExist(t *testing.T) {
	c := NewClient(callerFunc(func(method string, _ proto.Message) (proto.Message, error) {
		if method == "getListing" {
			return &pb.GetListingResponse{}, nil
		}
		return &pb.Opaque{}, nil
	}))
	_, err := c.FileInfo(t.Context(), "/a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = c.BlockLocations(t.Context(), "/a", 1)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = c.List(t.Context(), "/a", false)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestListOfAFile(t *testing.T) {
	c := NewClient(callerFunc(func(string, proto.Message) (proto.Message, error) {
		return &pb.GetListingResponse{Listing: &pb.Listing{Entries: []*pb.FileStatus{status("")}, Remaining: proto.Uint32(0)}}, nil
	}))
	_, err := c.List(t.Context(), "/a", false)
	require.ErrorIs(t, err, ErrNotDirectory)
}

func TestForwardKeepsEveryByte(t *testing.T) {
	request := protowire.AppendBytes(protowire.AppendTag(nil, 77, protowire.BytesType), []byte("request"))
	response := protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), 42)
	c := NewClient(callerFunc(func(method string, got proto.Message) (proto.Message, error) {
		encoded, err := proto.Marshal(got)
		require.NoError(t, err)
		require.Equal(t, request, encoded)
		require.Equal(t, "method", method)
		answer := &pb.Opaque{}
		answer.ProtoReflect().SetUnknown(response)
		return answer, nil
	}))
	got, err := c.Forward(t.Context(), "method", request)
	require.NoError(t, err)
	require.Equal(t, response, got)
}

func TestSetTimesSendsMinusOneForUnsetTimes(t *testing.T) {
	c := NewClient(callerFunc(func(_ string, request proto.Message) (proto.Message, error) {
		r := request.(*pb.SetTimesRequest)
		require.Equal(t, int64(-1), int64(r.GetAccessTime()))
		require.Equal(t, int64(1500), int64(r.GetModificationTime()))
		return &pb.Opaque{}, nil
	}))
	require.NoError(t, c.SetTimes(t.Context(), "/a", time.Time{}, time.UnixMilli(1500)))
}

func TestPathErrorsWrapErrorsOfPackageFS(t *testing.T) {
	for class, want := range map[string]error{
		"java.io.FileNotFoundException":                                fs.ErrNotExist,
		"org.apache.hadoop.fs.FileAlreadyExistsException":              fs.ErrExist,
		"org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException": fs.ErrExist,
		"org.apache.hadoop.security.AccessControlException":            fs.ErrPermission,
		"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":        syscall.ENOTEMPTY,
		"org.apache.hadoop.fs.ParentNotDirectoryException":             syscall.ENOTDIR,
	} {
		remote := &ipc.RemoteError{Class: ipc.ErrorClass(class), Message: "what the server said"}
		err := PathError(t.Context(), "open", "hdfs://c/a", &ipc.CallError{Method: "m", Err: remote})
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, err, remote)
		require.ErrorContains(t, err, "open hdfs://c/a: ")
	}
	other := errors.New("other")
	require.ErrorIs(t, PathError(t.Context(), "open", "hdfs://c/a", other), other)
	require.NoError(t, PathError(t.Context(), "open", "hdfs://c/a", nil))
	once := PathError(t.Context(), "open", "hdfs://c/a", other)
	require.Equal(t, once, PathError(t.Context(), "read", "hdfs://c/a", once), "the first path is kept")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, PathError(ctx, "open", "hdfs://c/a", other), context.Canceled)
}

// request encodes a call as colinmarc/hdfs does.
func request(t testing.TB, id int32, method string, body []byte) []byte {
	header, err := proto.Marshal(&ipcpb.RequestHeader{CallId: &id, ClientId: []byte("client")})
	require.NoError(t, err)
	call, err := proto.Marshal(&ipcpb.CallHeader{MethodName: &method, ProtocolName: proto.String("p"), ProtocolVersion: proto.Uint64(1)})
	require.NoError(t, err)
	frame := protowire.AppendBytes(make([]byte, 4), header)
	frame = protowire.AppendBytes(frame, call)
	frame = protowire.AppendBytes(frame, body)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// serve calls Serve with input as the connection's received bytes, and returns the sent bytes.
func serve(input []byte, handle Handler) (answers []byte, err error) {
	var output bytes.Buffer
	err = Serve(struct {
		io.Reader
		io.Writer
	}{bytes.NewReader(input), &output}, handle)
	return output.Bytes(), err
}

// preamble is the first data that a client sends on a connection.
const preamble = "hrpc\x09\x00\x00"

func TestServe(t *testing.T) {
	input := append([]byte(preamble), request(t, contextCallID, "", nil)...)
	input = append(input, request(t, 1, "echo", []byte("hello"))...)
	input = append(input, request(t, 2, "fail", nil)...)
	answers, err := serve(input, func(method string, request []byte) ([]byte, error) {
		if method == "fail" {
			return nil, &ipc.CallError{Method: "fail", Err: &ipc.RemoteError{Class: "java.io.FileNotFoundException", Message: "gone"}}
		}
		return request, nil
	})
	require.NoError(t, err)
	r := bytes.NewReader(answers)
	frame, err := readFrame(r)
	require.NoError(t, err)
	header := &ipcpb.ResponseHeader{}
	body, err := cutMessage(frame, header)
	require.NoError(t, err)
	require.Equal(t, uint32(1), header.GetCallId())
	require.Equal(t, ipcpb.ResponseHeader_SUCCESS, header.GetStatus())
	echo, _ := protowire.ConsumeBytes(body)
	require.Equal(t, "hello", string(echo))
	frame, err = readFrame(r)
	require.NoError(t, err)
	body, err = cutMessage(frame, header)
	require.NoError(t, err)
	require.Empty(t, body)
	require.Equal(t, uint32(2), header.GetCallId())
	require.Equal(t, ipcpb.ResponseHeader_ERROR, header.GetStatus())
	require.Equal(t, "java.io.FileNotFoundException", header.GetExceptionClass())
	require.Contains(t, header.GetErrorMessage(), "gone")
}

func TestServeRefusesMalformedInput(t *testing.T) {
	for name, input := range map[string][]byte{
		"huge frame": {0xff, 0xff, 0xff, 0xff},
		"no header":  {0, 0, 0, 1, 0x80},
		"bad header": {0, 0, 0, 2, 1, 0xff},
		"no method":  request(t, 1, "m", nil)[:12],
	} {
		t.Run(name, func(t *testing.T) {
			if name == "no method" {
				binary.BigEndian.PutUint32(input, uint32(len(input)-4))
			}
			answers, err := serve(append([]byte(preamble), input...), func(string, []byte) ([]byte, error) { return nil, nil })
			require.Error(t, err)
			require.Empty(t, answers)
		})
	}
	_, err := serve([]byte(preamble+"\x00\x00"), nil)
	require.NoError(t, err, "a client may go at any time")
}

func FuzzServe(f *testing.F) {
	f.Add([]byte{})
	f.Add(request(f, 1, "echo", []byte("hello")))
	f.Add(append(request(f, contextCallID, "", nil), request(f, 2, "m", nil)...))
	f.Add([]byte{0, 0, 0, 3, 2, 0x18, 0x02})
	f.Fuzz(func(t *testing.T, input []byte) {
		calls := 0
		answers, _ := serve(append([]byte(preamble), input...), func(_ string, request []byte) ([]byte, error) {
			calls++
			return request, nil
		})
		r := bytes.NewReader(answers)
		for range calls {
			frame, err := readFrame(r)
			require.NoError(t, err)
			header := &ipcpb.ResponseHeader{}
			body, err := cutMessage(frame, header)
			require.NoError(t, err)
			_, n := protowire.ConsumeBytes(body)
			require.Equal(t, len(body), n)
		}
		require.Zero(t, r.Len(), "one answer a call")
	})
}
