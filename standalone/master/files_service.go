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

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// filesService gives and takes contents. A standby has it too.
type filesService struct {
	protocol.UnimplementedFilesServer
	files *fileStore
}

func (s *filesService) Missing(_ context.Context, request *protocol.MissingRequest) (*protocol.MissingReply, error) {
	reply := &protocol.MissingReply{}
	for _, sum := range request.GetSha256() {
		if !s.files.has(sum) {
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

// sweepInterval is between two looks for old files.
const sweepInterval = time.Hour

// sweep removes old files while this master leads.
func (m *Master) sweep(ctx context.Context, t *term) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			var used map[string]bool
			if err := t.look(ctx, func(time.Time) { used = t.cluster.Files() }); err != nil {
				return
			}
			removed, err := m.files.sweep(now.Add(-config.FileRetention.In(m.settings)), used)
			if err != nil {
				m.logger.Warn("old files cannot be removed", "error", err)
			}
			if removed > 0 {
				m.logger.Info("old files were removed", "files", removed)
			}
		}
	}
}
