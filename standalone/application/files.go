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

// LocalFile is a file on this machine to be sent to workers, for executors or drivers.
type LocalFile struct {
	Path       string
	Name       string // name in the working directory
	Executable bool
	Archive    bool // whether workers unpack the file into the directory Name
}

// HashedFiles are local files with their SHA-256. Masters and workers store files by their
// SHA-256, so that they store each file only once.
type HashedFiles struct {
	files []*protocol.File
	paths map[string]string // local paths, by SHA-256 (32 raw bytes)
}

// UnreadableError means that a local file cannot be read, or has changed since HashFiles.
type UnreadableError struct {
	Path string
	Err  error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("reading %s: %v", e.Path, e.Err) }

// Unwrap returns Err.
func (e *UnreadableError) Unwrap() error { return e.Err }

// HashFiles reads files and computes their hashes. Its errors are *UnreadableError.
func HashFiles(local []LocalFile) (*HashedFiles, error) {
	read := &HashedFiles{paths: map[string]string{}}
	for _, file := range local {
		sum, size, err := hash(file.Path)
		if err != nil {
			return nil, &UnreadableError{file.Path, err}
		}
		read.paths[string(sum)] = file.Path
		read.files = append(read.files, &protocol.File{
			Name: file.Name, Sha256: sum, Size: size, Executable: file.Executable, Archive: file.Archive,
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

// Described returns the files as protocol messages, in the order of the argument of HashFiles.
// It returns nil if f is nil.
func (f *HashedFiles) Described() []*protocol.File {
	if f == nil {
		return nil
	}
	return f.files
}

// Upload uploads the files that a master does not have. If some files cannot be read, Upload
// still uploads all others, and the error wraps one *UnreadableError for each unreadable file.
func (f *HashedFiles) Upload(ctx context.Context, master protocol.FilesClient) error {
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
			return fmt.Errorf("the master asked for an unknown file %x", hash)
		}
		var unreadable *UnreadableError
		if err := uploadFile(ctx, master, hash, path); errors.As(err, &unreadable) {
			problems = append(problems, err)
		} else if err != nil {
			return err
		}
	}
	return errors.Join(problems...)
}

func uploadFile(ctx context.Context, master protocol.FilesClient, hash []byte, path string) error {
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
				break // CloseAndRecv returns the reason
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
