package dataset

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/storage"
)

// outputFormat describes the files of a saved data set.
type outputFormat struct {
	_           struct{} `cbor:",toarray"`
	Format      Format
	Compression string
	Header      []byte // begins each file
}

// SaveOption is an option of [Of.Save].
type SaveOption func(*saveOptions)

type saveOptions struct {
	Compression string
	header      bool
	output      []storage.OutputOption
}

// Compress makes Save compress the files: with "gzip", to part-00000.gz and so on, or
// with "zstd", to part-00000.zst. All sources decompress them.
func Compress(compression string) SaveOption {
	return func(o *saveOptions) { o.Compression = compression }
}

// Overwrite makes Save replace the directory if it exists, when all new files are
// complete. The data set may be computed from the old files. See
// storage.ReplaceOutput for what happens if the application dies meanwhile.
func Overwrite() SaveOption {
	return func(o *saveOptions) { o.output = append(o.output, storage.ReplaceOutput()) }
}

// Append makes Save add files to the directory if it exists, with the application's ID
// in their names, when all of them are complete. See storage.AppendToOutput for what
// happens if the application dies meanwhile.
func Append() SaveOption {
	return func(o *saveOptions) { o.output = append(o.output, storage.AppendToOutput()) }
}

// WriteHeader makes Save begin each file with the names of the columns, for [AsCSV] and
// elements that are structs.
func WriteHeader() SaveOption { return func(o *saveOptions) { o.header = true } }

// outputFormatOf returns the format of the files. It fails if elements of type T cannot be
// saved in the format, or an option is wrong.
func outputFormatOf[T any](format Format, options saveOptions) (outputFormat, error) {
	saved := outputFormat{Format: format, Compression: options.Compression}
	if _, err := lineEncoder[T](format); err != nil {
		return saved, err
	}
	if len(options.output) > 1 {
		return saved, errors.New("Overwrite and Append exclude each other")
	}
	if !options.header {
		return saved, nil
	}
	rows, err := newCSVConverter[T]()
	if format != AsCSV || err != nil || rows.fields == nil {
		return saved, errors.New("WriteHeader needs the format AsCSV and elements that are structs")
	}
	saved.Header, err = newCSVEncoder().line(rows.header())
	return saved, err
}

// Save writes the elements to a directory, in the files part-00000, part-00001, …
// It fails with fs.ErrExist if the directory exists, unless an option says what to do
// then. The directory appears, or changes, when all files are complete.
//
// If an earlier attempt of the application has written it, Save does nothing. An
// application that saves several data sets in a directory must do it in the same order
// in each attempt.
func (s *Of[T]) Save(ctx context.Context, path string, format Format, options ...SaveOption) error {
	if s.err != nil {
		return s.err
	}
	var o saveOptions
	for _, option := range options {
		option(&o)
	}
	files, err := outputFormatOf[T](format, o)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	suffix, err := storage.CompressionSuffix(files.Compression)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	e, err := engineOf(s.session)
	if err != nil {
		return err
	}
	return e.writeOutput(ctx, path, append(o.output, storage.PartSuffix(suffix)), func(ctx context.Context, output *storage.Output) (int, error) {
		j := &job{kind: saveElements, output: output, format: files}
		_, err := runJob(ctx, s, j)
		return len(j.outputs), err
	})
}

// writeOutput makes a directory of the parts that write writes; write returns their
// number. If an earlier attempt of the application has made the directory, writeOutput
// does nothing.
func (e *engine) writeOutput(ctx context.Context, path string, options []storage.OutputOption, write func(ctx context.Context, output *storage.Output) (parts int, err error)) error {
	uri, err := e.app.Files.Qualify(path)
	if err != nil {
		return err
	}
	ctx = storage.With(ctx, e.app.Files)
	output, err := e.app.Files.NewOutput(ctx, path, e.app.ID, append(options, storage.Sequence(e.addSaved(uri, 0)+1))...)
	if errors.Is(err, storage.ErrCommitted) {
		e.addSaved(uri, 1)
		return nil
	}
	if err != nil {
		return err
	}
	parts, err := write(ctx, &output)
	if err == nil {
		err = output.Commit(ctx, parts)
	}
	if err != nil {
		return errors.Join(err, output.Abort(ctx))
	}
	e.addSaved(uri, 1)
	return nil
}

// addSaved adds n to the number of outputs that the application has written to a path,
// and returns the sum.
func (e *engine) addSaved(path string, n int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.saved[path] += n
	return e.saved[path]
}

// save computes partitions and writes their elements to one part of the output.
func (s *decodedStage) save(x *taskContext, partitions span) (elements int64, err error) {
	part, err := s.Output.Part(x.task, x.task.Index(), x.task.Attempt())
	if err != nil {
		return 0, err
	}
	defer func() { _ = part.Abort() }() // no effect after Commit
	encoder, err := storage.Compress(part, s.OutputFormat.Compression)
	if err != nil {
		return 0, err
	}
	file := bufio.NewWriterSize(encoder, 256<<10)
	_, _ = file.Write(s.OutputFormat.Header) // Flush returns its error
	err = x.eachPartition(partitions, func(partition int) {
		s.final.save(x, s.OutputFormat.Format, partition, func(element []byte) error {
			elements++
			_, err := file.Write(element)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(file.Flush(), encoder.Close()); err != nil {
		return 0, err
	}
	return elements, x.task.CommitOutput(part.Commit)
}
