package storage

import "context"

// Usage counts bytes that are read and written, whatever the file system: those
// that a program asked for, as they are stored. It is for any goroutine.
type Usage interface {
	AddRead(bytes int)
	AddWritten(bytes int)
}

// UsageKey is the key under which a context may carry a [Usage]. It is told of
// the files that are opened or created under the context.
type UsageKey struct{}

func usageOf(ctx context.Context) Usage {
	usage, _ := ctx.Value(UsageKey{}).(Usage)
	return usage
}

// countedFile counts what is read of a file.
type countedFile struct {
	File
	usage Usage
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.usage.AddRead(n)
	return n, err
}

func (f *countedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	f.usage.AddRead(n)
	return n, err
}

// countedSink counts what is written.
type countedSink struct {
	sink
	usage Usage
}

func (s *countedSink) Write(p []byte) (int, error) {
	n, err := s.sink.Write(p)
	s.usage.AddWritten(n)
	return n, err
}
