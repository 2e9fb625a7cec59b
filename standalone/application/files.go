package application

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// LocalFile is a file of this machine that processes on workers need.
type LocalFile struct {
	Path       string
	Name       string // in the working directory
	Executable bool
	Archive    bool // to be unpacked into a directory of the name
}

// Files are local files by their contents. Masters and workers keep contents by
// their hash, so one that a master has is not sent again.
type Files struct {
	files []*protocol.File
	paths map[string]string // by the hash
}

// UnreadableError is a local file that cannot be read, or not as it was read
// first.
type UnreadableError struct {
	Path string
	Err  error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("reading %s: %v", e.Path, e.Err) }

// Unwrap gives the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// ReadFiles reads files for their hashes. Its errors are *UnreadableError.
func ReadFiles(local []LocalFile) (*Files, error) {
	read := &Files{paths: map[string]string{}}
	for _, one := range local {
		sum, size, err := hash(one.Path)
		if err != nil {
			return nil, &UnreadableError{one.Path, err}
		}
		read.paths[string(sum)] = one.Path
		read.files = append(read.files, &protocol.File{
			Name: one.Name, Sha256: sum, Size: size, Executable: one.Executable, Archive: one.Archive,
		})
	}
	return read, nil
}

func hash(path string) (sum []byte, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	hasher := sha256.New()
	size, err = io.Copy(hasher, file)
	return hasher.Sum(nil), size, err
}

// Described are the files as masters and workers know them.
func (f *Files) Described() []*protocol.File {
	if f == nil {
		return nil
	}
	return f.files
}

// Bring uploads to a master what it lacks. Where files cannot be read, the error
// holds an *UnreadableError for each, and the master has the others.
func (f *Files) Bring(ctx context.Context, master protocol.FilesClient) error {
	if len(f.Described()) == 0 {
		return nil
	}
	request := &protocol.MissingRequest{}
	for hash := range f.paths {
		request.Sha256 = append(request.Sha256, []byte(hash))
	}
	missing, err := master.Missing(ctx, request)
	if err != nil {
		return err
	}
	var problems []error
	for _, hash := range missing.GetSha256() {
		path, known := f.paths[string(hash)]
		if !known {
			return fmt.Errorf("the master lacks a file %x, of which it was not told", hash)
		}
		var unreadable *UnreadableError
		if err := upload(ctx, master, hash, path); errors.As(err, &unreadable) {
			problems = append(problems, err)
		} else if err != nil {
			return err
		}
	}
	return errors.Join(problems...)
}

// upload sends one content.
func upload(ctx context.Context, master protocol.FilesClient, hash []byte, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return &UnreadableError{path, err}
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return &UnreadableError{path, err}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := master.Upload(ctx)
	if err != nil {
		return fmt.Errorf("uploading %s: %w", path, err)
	}
	message := &protocol.UploadRequest{Sha256: hash, Size: info.Size()}
	for {
		chunk := make([]byte, protocol.ChunkBytes)
		n, err := io.ReadFull(file, chunk)
		message.Data = chunk[:n]
		if n > 0 || message.Sha256 != nil {
			if stream.Send(message) != nil {
				break // CloseAndRecv tells why
			}
		}
		message = &protocol.UploadRequest{}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return &UnreadableError{path, err}
		}
	}
	_, err = stream.CloseAndRecv()
	if status.Code(err) == codes.InvalidArgument {
		return &UnreadableError{path, fmt.Errorf("it has changed since it was read first: %s", status.Convert(err).Message())}
	}
	if err != nil {
		return fmt.Errorf("uploading %s: %w", path, err)
	}
	return nil
}
