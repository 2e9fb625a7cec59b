package dataset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/bobbin-yarn/bobbin/storage"
)

// SaveOption is an option of [Of.Save].
type SaveOption func(*saveOptions)

type saveOptions struct {
	encode  EncodeOptions
	columns []string // arguments of PartitionBy
	output  []storage.OutputOption
	dynamic bool // whether output has storage.ReplaceOutputPartitions
}

// Compress makes Save compress the files. With "gzip", for example, the files are named
// part-00000.gz and so on. See storage.Compress for the names of compressions. [Text],
// [CSV], [JSON], [FixedLength] and [ArrowRecords] decompress such files. Formats such as
// Parquet may have other compressions, and compress the data inside their files.
func Compress(compression string) SaveOption {
	return func(o *saveOptions) { o.encode.Compression = compression }
}

// Overwrite makes Save replace the directory if it exists. Save replaces it when all new
// files are complete, so the data set may be computed from the old files. See
// storage.ReplaceOutput for what happens if the application dies during the replacement.
func Overwrite() SaveOption {
	return func(o *saveOptions) { o.output = append(o.output, storage.ReplaceOutput()) }
}

// Append makes Save add files to the directory if it exists. The names of these files
// contain the application's ID. The files appear when all of them are complete. See
// storage.AppendToOutput for what happens if the application dies while they appear.
func Append() SaveOption {
	return func(o *saveOptions) { o.output = append(o.output, storage.AppendToOutput()) }
}

// WriteHeader makes Save begin each file with the names of the columns, for [AsCSV] and
// elements that are structs.
func WriteHeader() SaveOption { return FormatOption(headerOption, "true") }

// FormatOption sets an option of the format. The package of the format documents its
// options.
func FormatOption(name, value string) SaveOption {
	return func(o *saveOptions) {
		if o.encode.Options == nil {
			o.encode.Options = map[string]string{}
		}
		o.encode.Options[name] = value
	}
}

// Save writes the elements to a directory, in files named part-00000, part-00001 and so on.
// With the option [PartitionBy], the files are in directories below it. Save fails with
// fs.ErrExist if the directory exists, unless an option such as [Overwrite] allows this.
// The directory appears, or changes, when all files are complete.
//
// If an earlier attempt of the application has written the directory, Save does nothing. An
// application that saves several data sets to the same directory, one after another, must
// save them in the same order in each attempt.
func (s *Of[T]) Save(ctx context.Context, path string, format Format, options ...SaveOption) error {
	if s.err != nil {
		return s.err
	}
	var o saveOptions
	for _, option := range options {
		option(&o)
	}
	if len(o.output) > 1 {
		return fmt.Errorf("save %s: Overwrite, DynamicOverwrite and Append exclude each other", path)
	}
	files, suffix, err := s.outputFormat(format, o)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	e, err := engineOf(s.session)
	if err != nil {
		return err
	}
	return e.writeOutput(ctx, path, append(o.output, storage.PartSuffix(suffix), storage.Partitioned(len(o.columns))), func(ctx context.Context, output *storage.Output) (int, error) {
		j := &job{kind: saveElements, output: output, format: files}
		_, err := runJob(ctx, s, j)
		return len(j.outputs), err
	})
}

// outputFormat checks Save's options. It returns the format of the files and the suffix of
// their names.
func (s *Of[T]) outputFormat(format Format, o saveOptions) (files outputFormat, suffix string, err error) {
	if o.dynamic && len(o.columns) == 0 {
		return files, "", errors.New("DynamicOverwrite needs the option PartitionBy")
	}
	element := reflect.TypeFor[T]()
	fields, err := partitionFieldsOf(element)
	if err != nil {
		return files, "", err
	}
	for _, f := range fields {
		if !slices.Contains(o.columns, f.column) {
			return files, "", fmt.Errorf("field %s of %v has the tag partition:%q, so readers take it from the names of directories: "+
				"name the column in PartitionBy, or map the elements to another type", f.name, element, f.column)
		}
	}
	if len(o.columns) > 0 {
		p, err := newPartitioning(element, o.columns)
		if err != nil {
			return files, "", err
		}
		if element = p.fileType; s.node.codec == nil {
			return files, "", errors.New("PartitionBy needs elements that can be sent to other processes")
		}
	}
	files, suffix, err = outputFormatOf(element, format, o.encode)
	files.Columns = o.columns
	return files, suffix, err
}

// writeOutput writes an output directory. It calls write, which writes the parts and
// returns their number, and then commits the parts. If an earlier attempt of the
// application has committed the directory, writeOutput does nothing.
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
	if len(s.OutputFormat.Columns) > 0 {
		return s.savePartitioned(x, partitions)
	}
	part, err := s.Output.Part(x.task, x.task.Index(), x.task.Attempt())
	if err != nil {
		return 0, err
	}
	defer func() { _ = part.Abort() }() // no effect after Commit
	encoder, err := s.OutputFormat.encoder(part, s.final.element)
	if err != nil {
		return 0, err
	}
	err = x.eachPartition(partitions, func(partition int) {
		s.final.save(x, partition, func(element any) error {
			elements++
			return encoder.Write(element)
		})
	})
	if err != nil {
		return 0, err
	}
	if err := encoder.Close(); err != nil {
		return 0, err
	}
	return elements, x.task.CommitOutput(part.Commit)
}
