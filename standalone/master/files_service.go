package master

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// filesService receives uploaded files and sends them to workers. A standby master has this
// service too.
type filesService struct {
	protocol.UnimplementedFilesServer
	master *Master
	files  *fileStore
}

func (s *filesService) Missing(ctx context.Context, request *protocol.MissingRequest) (*protocol.MissingReply, error) {
	if request.GetUnwanted() {
		return s.unwanted(ctx, request)
	}
	reply := &protocol.MissingReply{}
	for _, sum := range request.GetSha256() {
		if !s.files.touch(sum) {
			reply.Sha256 = append(reply.Sha256, sum)
		}
	}
	return reply, nil
}

// unwanted answers a standby that is about to remove old files. It returns those SHA-256 sums
// of the request whose files this leader neither stores nor needs.
func (s *filesService) unwanted(ctx context.Context, request *protocol.MissingRequest) (*protocol.MissingReply, error) {
	t, err := s.master.leader()
	if err != nil {
		return nil, err
	}
	var used map[string]bool
	if err := t.query(ctx, func(time.Time) { used = t.cluster.Files() }); err != nil {
		return nil, err
	}
	reply := &protocol.MissingReply{}
	for _, sum := range request.GetSha256() {
		if !used[string(sum)] && !s.files.has(sum) {
			reply.Sha256 = append(reply.Sha256, sum)
		}
	}
	return reply, nil
}

func (s *filesService) Upload(stream grpc.ClientStreamingServer[protocol.UploadRequest, protocol.UploadReply]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	d, err := s.files.begin(first.GetSha256(), first.GetSize())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	defer d.drop()
	for next := first; ; {
		if err := d.write(next.GetData()); err != nil {
			return uploadError(err)
		}
		next, err = stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := d.commit(); err != nil {
		return uploadError(err)
	}
	return stream.SendAndClose(&protocol.UploadReply{})
}

func uploadError(err error) error {
	if errors.Is(err, errWrongContent) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return status.Error(codes.ResourceExhausted, err.Error())
}

func (s *filesService) Fetch(request *protocol.FetchRequest, stream grpc.ServerStreamingServer[protocol.FetchReply]) error {
	file, err := s.files.open(request.GetSha256())
	if errors.Is(err, fs.ErrNotExist) {
		return status.Errorf(codes.NotFound, "the master has no content of SHA-256 %x", request.GetSha256())
	}
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		return stream.Send(&protocol.FetchReply{})
	}
	return copyChunks(file, protocol.ChunkBytes, func(data []byte) error {
		return stream.Send(&protocol.FetchReply{Data: data})
	})
}
