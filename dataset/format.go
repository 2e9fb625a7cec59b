package dataset

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
)

// Format is a format of files that [Of.Save] writes. Packages such as dataset/parquet have
// more formats, and programs add their own with [RegisterFormat]. The zero value is
// invalid.
type Format struct{ name string }

// FormatDescription describes a format of files to [RegisterFormat].
type FormatDescription struct {
	// Name identifies the format in all processes of an application.
	Name string
	// Suffix returns the suffix of file names for a compression, such as ".json.gz" for
	// "gzip". The compression "" is the format's default. Suffix fails if the format does
	// not have the compression.
	Suffix func(compression string) (string, error)
	// NewEncoder returns an encoder that writes elements of a type to a file. It fails if
	// the format cannot write such elements, or an option is wrong. So that such errors are
	// found before tasks run, Save also calls NewEncoder in the driver, with a file that
	// discards all bytes.
	NewEncoder func(file io.Writer, element reflect.Type, options EncodeOptions) (Encoder, error)
	// Streams is true if an encoder buffers only a small part of its file in memory. Then a
	// task may write several files at the same time; see [PartitionBy].
	Streams bool
}

// EncodeOptions are the options of [Of.Save] for the format's encoders.
type EncodeOptions struct {
	_           struct{}          `cbor:",toarray"`
	Compression string            // the argument of [Compress]; "" without that option
	Options     map[string]string // values set with [FormatOption], by name; nil if there are none
}

// Encoder writes the elements of one file.
type Encoder interface {
	// Write appends an element. For a data set of type T, element is a *T that is valid
	// until Write returns.
	Write(element any) error
	// Close writes buffered elements and, if the format has one, a footer. It does not close
	// the file.
	Close() error
}

// formats has all registered formats by name. It needs no lock, because it changes only
// during the initialization of package variables.
var formats = map[string]FormatDescription{}

// RegisterFormat adds a format of files. Call it in the initializer of a package variable,
// so that the format is registered in executors too. RegisterFormat panics if another
// format has the same name.
func RegisterFormat(description FormatDescription) Format {
	if _, taken := formats[description.Name]; taken {
		panic(fmt.Sprintf("dataset: two formats have the name %q", description.Name))
	}
	formats[description.Name] = description
	return Format{description.Name}
}

// String returns the format's name.
func (f Format) String() string { return f.name }

// outputFormat describes the files of a saved data set.
type outputFormat struct {
	_       struct{} `cbor:",toarray"`
	Name    string
	Options EncodeOptions
	Columns []string // arguments of [PartitionBy]
}

// outputFormatOf returns the description of files with elements of a type, and the suffix
// of the files' names. It fails if the format cannot write such elements, or an option is
// wrong.
func outputFormatOf(element reflect.Type, format Format, options EncodeOptions) (files outputFormat, suffix string, err error) {
	description, known := formats[format.name]
	if !known {
		return files, "", errors.New("the format is the zero value of Format: name one, such as dataset.AsText")
	}
	if suffix, err = description.Suffix(options.Compression); err != nil {
		return files, "", err
	}
	files = outputFormat{Name: format.name, Options: options}
	_, err = files.encoder(io.Discard, element)
	return files, suffix, err
}

// encoder returns an encoder that writes elements of a type to a file.
func (o outputFormat) encoder(file io.Writer, element reflect.Type) (Encoder, error) {
	description, known := formats[o.Name]
	if !known {
		return nil, permanentError{fmt.Errorf("this program has no format %q: executors must run the driver's program", o.Name)}
	}
	options := o.Options
	options.Options = maps.Clone(options.Options)
	return description.NewEncoder(file, element, options)
}

// openFiles returns how many files a task may write at the same time.
func (o outputFormat) openFiles() int {
	if formats[o.Name].Streams {
		return maxOpenFiles
	}
	return 1
}

// saver returns the value of the field save of a data set's node.
func saver[T any](s *Of[T]) func(x *taskContext, partition int, write func(element any) error) {
	return func(x *taskContext, partition int, write func(element any) error) {
		current := new(T) // the same variable for all elements, to avoid allocations
		s.compute(x, partition, func(element T) bool {
			*current = element
			err := write(current)
			return err == nil || x.fail(err)
		})
	}
}
