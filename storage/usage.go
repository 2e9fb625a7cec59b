package storage

import "context"

// Usage counts the bytes that are read from files and written to files, as stored. Its methods
// must be safe for concurrent use.
type Usage interface {
	AddRead(bytes int)
	AddWritten(bytes int)
}

// UsageKey is the context key of the [Usage] that counts the bytes of the files that are opened
// or created with the context.
type UsageKey struct{}

func usageOf(ctx context.Context) Usage {
	usage, _ := ctx.Value(UsageKey{}).(Usage)
	return usage
}

// countedFile counts the bytes that are read from a file.
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

// countedSink counts the bytes that are written to a file.
type countedSink struct {
	sink
	usage Usage
}

func (s *countedSink) Write(p []byte) (int, error) {
	n, err := s.sink.Write(p)
	s.usage.AddWritten(n)
	return n, err
}
