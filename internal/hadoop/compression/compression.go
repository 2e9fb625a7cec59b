// Package compression reads and writes compressed streams in the formats of Hadoop's codecs.
//
// [ByName], [ByFile] and [ByClass] return a [Codec] for its name, for the suffix of a file, or
// for the Java class that a SequenceFile names. A codec has the same format in whole files and
// within files such as SequenceFiles:
//
//	gzip, deflate (zlib), bzip2, zstd   the format of that name; several streams may follow each other
//	snappy, lz4                         blocks in the framing of Hadoop's BlockCompressorStream
//
// [NewBzip2Range] reads a part of a bzip2 file.
package compression

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Codec is a format of compressed streams.
type Codec struct {
	Name   string // such as "gzip"
	Suffix string // suffix of file names, such as ".gz"
	Class  string // full name of Hadoop's Java class
	// open returns a reader of a stream's content, and a function that frees the reader's
	// resources; the function is nil if the reader has none.
	open   func(r io.Reader) (io.Reader, func(), error)
	create func(w io.Writer) (io.WriteCloser, error)
}

// Bzip2 is the name of the only codec whose files can be read in parts (see [NewBzip2Range]).
const Bzip2 = "bzip2"

const classPrefix = "org.apache.hadoop.io.compress."

var codecs = []Codec{
	{Name: "gzip", Suffix: ".gz", Class: classPrefix + "GzipCodec", open: openGzip, create: createGzip},
	{Name: "zstd", Suffix: ".zst", Class: classPrefix + "ZStandardCodec", open: openZstd, create: createZstd},
	{Name: Bzip2, Suffix: ".bz2", Class: classPrefix + "BZip2Codec", open: openBzip2, create: createBzip2},
	{Name: "snappy", Suffix: ".snappy", Class: classPrefix + "SnappyCodec", open: openSnappy, create: createSnappy},
	{Name: "lz4", Suffix: ".lz4", Class: classPrefix + "Lz4Codec", open: openLZ4, create: createLZ4},
	{Name: "deflate", Suffix: ".deflate", Class: classPrefix + "DefaultCodec", open: openDeflate, create: createDeflate},
}

// Names returns the names of all codecs.
func Names() []string {
	names := make([]string, len(codecs))
	for i := range codecs {
		names[i] = codecs[i].Name
	}
	return names
}

// ByName returns the codec with the given name. It fails for a name that is not in [Names].
func ByName(name string) (Codec, error) {
	i := slices.IndexFunc(codecs, func(c Codec) bool { return c.Name == name })
	if i < 0 {
		return Codec{}, fmt.Errorf("unknown compression %q; known are %s", name, strings.Join(Names(), ", "))
	}
	return codecs[i], nil
}

// ByFile returns the codec for the suffix of a file's name, and reports whether there is such a
// codec.
func ByFile(name string) (Codec, bool) {
	suffix := path.Ext(name)
	i := slices.IndexFunc(codecs, func(c Codec) bool { return c.Suffix == suffix })
	if i < 0 {
		return Codec{}, false
	}
	return codecs[i], true
}

// ByClass returns the codec whose Java class has the given full name. It fails if there is
// no such codec. DeflateCodec is another name for DefaultCodec.
func ByClass(class string) (Codec, error) {
	if class == classPrefix+"DeflateCodec" {
		return ByName("deflate")
	}
	i := slices.IndexFunc(codecs, func(c Codec) bool { return c.Class == class })
	if i < 0 {
		return Codec{}, fmt.Errorf("unknown codec %q; known are those of %s", class, strings.Join(Names(), ", "))
	}
	return codecs[i], nil
}

// NewReader returns a reader of the decompressed content of r. It may read the beginning of r,
// and fails if the beginning is not in the codec's format. If r ends too early, reads return
// io.ErrUnexpectedEOF. The reader's Close frees resources, but does not close r.
func (c Codec) NewReader(r io.Reader) (io.ReadCloser, error) {
	opened, release, err := c.open(r)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return reader{opened, release}, nil
}

// NewWriter returns a writer that compresses its input and writes the result to w. The stream
// is complete only after the writer's Close, which does not close w.
func (c Codec) NewWriter(w io.Writer) (io.WriteCloser, error) { return c.create(w) }

type reader struct {
	io.Reader
	release func()
}

func (r reader) Close() error {
	if r.release != nil {
		r.release()
	}
	return nil
}

func openGzip(r io.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(r)
	return z, nil, err
}

func createGzip(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }

// openZstd and createZstd set a concurrency of 1, because a task has one core. zstd then works
// in the caller's goroutine.

func openZstd(r io.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

func createZstd(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
}

func createBzip2(w io.Writer) (io.WriteCloser, error) {
	return bzip2.NewWriter(w, &bzip2.WriterConfig{Level: bzip2.BestCompression})
}

func createDeflate(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil }

func openDeflate(r io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReader(r)
	z, err := zlib.NewReader(buffered)
	if err != nil {
		return nil, nil, err
	}
	return &inflater{in: buffered, stream: z}, nil, nil
}

// inflater reads consecutive zlib streams.
type inflater struct {
	in     *bufio.Reader
	stream io.ReadCloser
}

func (i *inflater) Read(p []byte) (int, error) {
	for {
		n, err := i.stream.Read(p)
		if err != io.EOF {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		if _, err := i.in.Peek(1); err != nil {
			return 0, err // io.EOF after the last stream
		}
		if err := i.stream.(zlib.Resetter).Reset(i.in, nil); err != nil {
			return 0, noEOF(err)
		}
	}
}

// noEOF returns io.ErrUnexpectedEOF for io.EOF, and any other error unchanged.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
