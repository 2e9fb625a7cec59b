package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// fetchTimeout limits the time without progress: in the search for a master that has the
	// file, and in the transfer. In each round of attempts, all masters are tried. fetchPause
	// is the pause between two rounds.
	fetchTimeout = time.Minute
	fetchPause   = time.Second
)

// masters are the worker's masters, from which files are fetched.
type masters struct{ *protocol.Masters }

func newMasters(addresses []string, dial []grpc.DialOption) *masters {
	return &masters{protocol.NewMasters(addresses, dial)}
}

// fetch fetches the file whose SHA-256 is hash, from any master that has the file. It calls
// to.restart before each attempt.
func (m *masters) fetch(ctx context.Context, hash []byte, to rewriter) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	timeout := time.AfterFunc(fetchTimeout, giveUp)
	defer timeout.Stop()
	// Hundreds of workers may fetch from one master at the same time, so transfers can be
	// slow. Therefore only the time without progress is limited. Only bytes beyond those of
	// earlier attempts count as progress.
	farthest := int64(0)
	progress := func(got int64) {
		if got > farthest {
			farthest = got
			timeout.Reset(fetchTimeout)
		}
	}
	for {
		var problems []error
		for _, address := range m.All() {
			err := m.fetchFrom(ctx, address, hash, to, progress)
			if err == nil {
				return nil
			}
			if ctx.Err() == nil || len(problems) == 0 {
				problems = append(problems, fmt.Errorf("master %s: %w", address, err))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("fetch it (SHA-256 %x): %w", hash, errors.Join(problems...))
		case <-time.After(fetchPause):
		}
	}
}

// rewriter is a writer. Its method restart discards the bytes written so far.
type rewriter interface {
	io.Writer
	restart() error
}

// An error wraps errDisk if a fetched file cannot be written.
var errDisk = errors.New("cannot be written here")

// fetchFrom fetches a file from one master. It calls progress with the number of bytes
// received so far.
func (m *masters) fetchFrom(ctx context.Context, address string, hash []byte, to rewriter, progress func(got int64)) error {
	connection, err := m.Connection(address)
	if err != nil {
		return err
	}
	if err := to.restart(); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := protocol.NewFilesClient(connection).Fetch(ctx, &protocol.FetchRequest{Sha256: hash})
	if err != nil {
		return err
	}
	for got := int64(0); ; {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case status.Code(err) == codes.NotFound:
			return errors.New("it does not have the content")
		case err != nil:
			return err
		}
		if _, err := to.Write(part.GetData()); err != nil {
			return fmt.Errorf("%w: %w", errDisk, err)
		}
		got += int64(len(part.GetData()))
		progress(got)
	}
}
