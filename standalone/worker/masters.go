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
	// fetchPatience is how long a content is looked for at all masters, while one
	// may be taking another's place, and how long a transfer may stand still.
	fetchPatience = time.Minute
	fetchPause    = time.Second
)

// masters are those that the worker knows, which have the contents that it needs.
type masters struct{ *protocol.Masters }

func newMasters(addresses []string, dial []grpc.DialOption) *masters {
	return &masters{protocol.NewMasters(addresses, dial)}
}

// fetch writes a content, from whichever master has it. to starts over when
// another try begins.
func (m *masters) fetch(ctx context.Context, hash []byte, to rewriter) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	patience := time.AfterFunc(fetchPatience, giveUp)
	defer patience.Stop()
	// A transfer may take as long as it goes on: hundreds of workers fetch from one
	// master at a time. Tries that get no farther than those before do not count.
	farthest := int64(0)
	heard := func(got int64) {
		if got > farthest {
			farthest = got
			patience.Reset(fetchPatience)
		}
	}
	for {
		var problems []error
		for _, address := range m.All() {
			err := m.fetchFrom(ctx, address, hash, to, heard)
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

// rewriter takes data, and can forget what it has.
type rewriter interface {
	io.Writer
	restart() error
}

// errDisk is wrapped by errors of this machine in a fetch.
var errDisk = errors.New("cannot be written here")

// fetchFrom tells how many bytes have come with each part of the content.
func (m *masters) fetchFrom(ctx context.Context, address string, hash []byte, to rewriter, heard func(got int64)) error {
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
		heard(got)
	}
}
