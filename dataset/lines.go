package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/bobbin-yarn/bobbin/storage"
)

// Formats that write each element as a line.
var (
	// AsText writes one line for each element, which must be a string or []byte.
	AsText = RegisterFormat(FormatDescription{Name: "text", Streams: true, Suffix: storage.CompressionSuffix, NewEncoder: newTextEncoder("\n")})
	// AsJSON writes each element as JSON on a separate line.
	AsJSON = RegisterFormat(FormatDescription{Name: "json", Streams: true, Suffix: storage.CompressionSuffix, NewEncoder: newJSONEncoder})
	// AsCSV writes each element as a record of comma-separated values. See [CSV] for
	// the types of elements.
	AsCSV = RegisterFormat(FormatDescription{Name: "csv", Streams: true, Suffix: storage.CompressionSuffix, NewEncoder: newCSVEncoder})
)

// AsBytes writes the bytes of each element, which must be a string or []byte, with nothing
// between them. [FixedLength] reads such files if all elements have the same length.
var AsBytes = RegisterFormat(FormatDescription{Name: "bytes", Streams: true, Suffix: storage.CompressionSuffix, NewEncoder: newTextEncoder("")})

// headerOption is the option that [WriteHeader] sets.
const headerOption = "header"

// checkOptions returns an error if an option is set that is not in known.
func (o EncodeOptions) checkOptions(known ...string) error {
	rest := len(o.Options)
	for _, name := range known {
		if _, set := o.Options[name]; set {
			rest--
		}
	}
	if rest == 0 {
		return nil
	}
	if _, set := o.Options[headerOption]; set {
		return errors.New("WriteHeader needs the format AsCSV and elements that are structs")
	}
	return fmt.Errorf("the format has none of the options %v", o.Options)
}

// lineFile buffers lines and compresses them into a file.
type lineFile struct {
	*bufio.Writer
	compressed io.Closer
}

func newLineFile(file io.Writer, compression string) (*lineFile, error) {
	compressed, err := storage.Compress(file, compression)
	if err != nil {
		return nil, err
	}
	return &lineFile{Writer: bufio.NewWriterSize(compressed, 256<<10), compressed: compressed}, nil
}

func (f *lineFile) Close() error { return errors.Join(f.Flush(), f.compressed.Close()) }

// textEncoder is the encoder of [AsText] and [AsBytes].
type textEncoder struct {
	*lineFile
	end string // written after each element
}

func newTextEncoder(end string) func(file io.Writer, element reflect.Type, options EncodeOptions) (Encoder, error) {
	return func(file io.Writer, element reflect.Type, options EncodeOptions) (Encoder, error) {
		if element.Kind() != reflect.String && element != reflect.TypeFor[[]byte]() {
			return nil, fmt.Errorf("elements of type %v cannot be written as text: map them to string or []byte first", element)
		}
		if err := options.checkOptions(); err != nil {
			return nil, err
		}
		lines, err := newLineFile(file, options.Compression)
		return textEncoder{lines, end}, err
	}
}

func (e textEncoder) Write(element any) (err error) {
	switch line := element.(type) {
	case *[]byte:
		_, err = e.Writer.Write(*line)
	case *string:
		_, err = e.WriteString(*line)
	default: // a type whose kind is string
		_, err = e.WriteString(reflect.ValueOf(element).Elem().String())
	}
	if err != nil {
		return err
	}
	_, err = e.WriteString(e.end)
	return err
}

// jsonEncoder is the encoder of [AsJSON].
type jsonEncoder struct{ *lineFile }

func newJSONEncoder(file io.Writer, _ reflect.Type, options EncodeOptions) (Encoder, error) {
	if err := options.checkOptions(); err != nil {
		return nil, err
	}
	lines, err := newLineFile(file, options.Compression)
	return jsonEncoder{lines}, err
}

func (e jsonEncoder) Write(element any) error {
	encoded, err := json.Marshal(element)
	if err != nil {
		return err
	}
	_, err = e.Writer.Write(append(encoded, '\n'))
	return err
}

// csvEncoder is the encoder of [AsCSV].
type csvEncoder struct {
	*lineFile
	converter csvConverter
	lines     csvLineEncoder
	fields    []string // reused by Write
}

func newCSVEncoder(file io.Writer, element reflect.Type, options EncodeOptions) (Encoder, error) {
	converter, err := newCSVConverter(element, func(reflect.StructField) bool { return false })
	if err != nil {
		return nil, err
	}
	if err := options.checkOptions(headerOption); err != nil {
		return nil, err
	}
	e := &csvEncoder{converter: converter, lines: newCSVLineEncoder()}
	if e.lineFile, err = newLineFile(file, options.Compression); err != nil {
		return nil, err
	}
	if _, header := options.Options[headerOption]; !header {
		return e, nil
	}
	if converter.fields == nil {
		return nil, errors.New("WriteHeader needs the format AsCSV and elements that are structs")
	}
	return e, e.writeRecord(converter.header())
}

func (e *csvEncoder) Write(element any) error {
	record, err := e.converter.encode(e.fields[:0], reflect.ValueOf(element).UnsafePointer())
	if err != nil {
		return err
	}
	if e.converter.fields != nil {
		e.fields = record
	}
	return e.writeRecord(record)
}

func (e *csvEncoder) writeRecord(record []string) error {
	line, err := e.lines.line(record)
	if err != nil {
		return err
	}
	_, err = e.Writer.Write(line)
	return err
}
