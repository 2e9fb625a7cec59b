package avro

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	twmb "github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
)

// Format is the format of Avro container files. dataset.Compress sets the codec of blocks:
// "bzip2", "deflate", "snappy", "zstd", or "" for none. Elements are structs; see the
// package's documentation for the types and tags of their fields.
var Format = dataset.RegisterFormat(dataset.FormatDescription{
	Name: "avro",
	Suffix: func(compression string) (string, error) {
		_, err := writerCodec(compression)
		return ".avro", err
	},
	NewEncoder: newEncoder,
	Streams:    true,
})

const (
	schemaOption = "avro.schema"
	// blockSize is the size in bytes of blocks before compression. Avro for Java uses
	// 64,000 by default; larger blocks compress better and are read at the same speed.
	blockSize = 256 << 10
)

// Schema makes Save write files with a schema, which must be a record; json is its JSON
// form. Elements must have all fields of the record that have no default. Use Schema to
// write enums, and to choose names, namespaces and documentation. Without the option, Save
// derives the schema from the type of the elements.
func Schema(json string) dataset.SaveOption { return dataset.FormatOption(schemaOption, json) }

// encoder writes the elements of one file.
type encoder struct{ writer *ocf.Writer }

func newEncoder(file io.Writer, element reflect.Type, options dataset.EncodeOptions) (dataset.Encoder, error) {
	schema, err := writerSchema(element, options.Options)
	if err != nil {
		return nil, err
	}
	codec, err := writerCodec(options.Compression)
	if err != nil {
		return nil, err
	}
	writer, err := ocf.NewWriter(file, schema, ocf.WithCodec(codec), ocf.WithBlockBytes(blockSize))
	return &encoder{writer}, err
}

// writerSchema returns the schema with which elements of a Go type are written: the one in
// options, if there is one, or else the one that describes the type.
func writerSchema(element reflect.Type, options map[string]string) (*twmb.Schema, error) {
	for name := range options {
		if name != schemaOption {
			return nil, fmt.Errorf("the option %q is none of Avro files", name)
		}
	}
	json, given := options[schemaOption]
	if !given {
		made, err := schemaOf(element)
		if err != nil {
			return nil, err
		}
		return made.root.Schema()
	}
	schema, err := twmb.Parse(json)
	if err != nil {
		return nil, fmt.Errorf("the schema of avro.Schema: %w", err)
	}
	if element.Kind() != reflect.Struct || schema.Root().Type != "record" {
		return nil, errors.New("the schema of avro.Schema must be a record, and the elements structs")
	}
	return schema, nil
}

// writerCodec returns the codec for an argument of dataset.Compress, or nil for "".
func writerCodec(name string) (ocf.Codec, error) {
	switch name {
	case "":
		return nil, nil
	case compression.Bzip2:
		return newBzip2Codec()
	case "deflate":
		return ocf.DeflateCodec(flate.DefaultCompression), nil
	case "snappy":
		return ocf.SnappyCodec(), nil
	case "zstd":
		return ocf.ZstdCodec([]zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedDefault)}, nil)
	}
	return nil, fmt.Errorf("the compression %q is none that Avro files are written with: bzip2, deflate, snappy and zstd", name)
}

func (e *encoder) Write(element any) error { return e.writer.Encode(element) }

func (e *encoder) Close() error { return e.writer.Close() }
