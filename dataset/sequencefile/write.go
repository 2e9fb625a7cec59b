package sequencefile

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
	"github.com/bobbin-yarn/bobbin/internal/syncmark"
)

// Format is the format of SequenceFiles. Elements are a dataset.KV; see the package's
// documentation for the types of keys and values. With dataset.Compress, records are
// compressed together in blocks of about a megabyte. Hadoop can read files compressed with
// zstd only if its native library is installed.
var Format = dataset.RegisterFormat(dataset.FormatDescription{
	Name: "sequencefile",
	Suffix: func(name string) (string, error) {
		if name == "" {
			return "", nil
		}
		_, err := compression.ByName(name) // SequenceFiles have no suffix
		return "", err
	},
	NewEncoder: newWriter,
})

const compressionOption = "sequencefile.compression"

// RecordCompression makes Save compress each value separately instead of blocks of records.
// Files become larger, so use it only for readers that do not support blocks.
func RecordCompression() dataset.SaveOption {
	return dataset.FormatOption(compressionOption, "record")
}

const (
	// blockSize is the approximate size of a block's keys and values in bytes. In files
	// without blocks, a sync is written after about syncInterval bytes. Both are Hadoop's
	// defaults (io.seqfile.compress.blocksize, SequenceFile.SYNC_INTERVAL).
	blockSize    = 1_000_000
	syncInterval = 5 * 1024 * 20
)

// writer writes a SequenceFile. The comment on type file describes the format.
type writer struct {
	out        io.Writer
	codec      *compression.Codec // nil if nothing is compressed
	blocks     bool               // records are compressed together, in blocks, not one by one
	marker     syncmark.Marker
	key, value encoder

	position, lastSync int64        // offsets in the file: of the next byte, and after the last sync
	record             []byte       // buffer for a record
	compressed         bytes.Buffer // buffer for the result of compress
	records            int64        // in the current block
	buffers            [4][]byte    // the current block: lengths of keys, keys, lengths of values, values
}

// newWriter returns a writer of elements of a type, which must be a dataset.KV. It writes
// the header.
func newWriter(out io.Writer, element reflect.Type, options dataset.EncodeOptions) (dataset.Encoder, error) {
	if element.Kind() != reflect.Struct || element.NumField() != 2 || element.Field(0).Name != "Key" || element.Field(1).Name != "Value" {
		return nil, fmt.Errorf("elements of type %v are no pairs for a SequenceFile: make them a dataset.KV first, with KeyBy or MapKV", element)
	}
	w := &writer{out: out}
	for name, value := range options.Options {
		if name != compressionOption || value != "record" {
			return nil, fmt.Errorf("the option %q is none of SequenceFiles", name)
		}
	}
	if options.Compression != "" {
		codec, err := compression.ByName(options.Compression)
		if err != nil {
			return nil, err
		}
		w.codec, w.blocks = &codec, options.Options[compressionOption] == ""
	} else if options.Options[compressionOption] != "" {
		return nil, errors.New("RecordCompression needs the option dataset.Compress too")
	}
	var err error
	if w.key, err = encoderOf(element.Field(0).Type, "keys"); err != nil {
		return nil, err
	}
	if w.value, err = encoderOf(element.Field(1).Type, "values"); err != nil {
		return nil, err
	}
	_, _ = rand.Read(w.marker[:]) // never fails
	return w, w.writeHeader()
}

func (w *writer) writeHeader() error {
	header := []byte("SEQ\x06")
	text := func(s string) { header = append(writable.AppendVInt(header, int64(len(s))), s...) }
	text(classPrefix + w.key.class)
	text(classPrefix + w.value.class)
	if w.codec == nil {
		header = append(header, 0, 0)
	} else {
		header = append(header, 1, 0)
		if w.blocks {
			header[len(header)-1] = 1
		}
		text(w.codec.Class)
	}
	header = append(header, 0, 0, 0, 0) // no metadata
	return w.write(append(header, w.marker[:]...))
}

func (w *writer) write(p []byte) error {
	n, err := w.out.Write(p)
	w.position += int64(n)
	return err
}

// Write appends a pair.
func (w *writer) Write(element any) error {
	pair := reflect.ValueOf(element).Elem()
	key, value := pair.Field(0).Addr().Interface(), pair.Field(1).Addr().Interface()
	if w.blocks {
		return w.addToBlock(key, value)
	}
	w.record = append(w.record[:0], make([]byte, 8)...)
	w.record = w.key.append(w.record, key)
	keyLength := len(w.record) - 8
	if w.codec == nil {
		w.record = w.value.append(w.record, value)
	} else {
		content := w.value.append(w.buffers[3][:0], value)
		w.buffers[3] = content
		compressed, err := w.compress(content)
		if err != nil {
			return err
		}
		w.record = append(w.record, compressed...)
	}
	length := len(w.record) - 8
	if length > math.MaxInt32-8 {
		return fmt.Errorf("a record of %d bytes is too large for a SequenceFile: divide it", length)
	}
	binary.BigEndian.PutUint32(w.record, uint32(length))
	binary.BigEndian.PutUint32(w.record[4:], uint32(keyLength))
	if w.position >= w.lastSync+syncInterval {
		if err := w.sync(); err != nil {
			return err
		}
	}
	return w.write(w.record)
}

// sync writes a sync; the comment on type file describes syncs.
func (w *writer) sync() error {
	err := w.write(append([]byte{0xff, 0xff, 0xff, 0xff}, w.marker[:]...))
	w.lastSync = w.position
	return err
}

// compress returns the compressed form of content. The result is valid until the next call.
func (w *writer) compress(content []byte) ([]byte, error) {
	w.compressed.Reset()
	z, err := w.codec.NewWriter(&w.compressed)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(content)
	err = errors.Join(err, z.Close())
	return w.compressed.Bytes(), err
}

// addToBlock adds a pair to the current block, and writes the block when its keys and
// values have blockSize bytes.
func (w *writer) addToBlock(key, value any) error {
	keys, values := len(w.buffers[1]), len(w.buffers[3])
	w.buffers[1] = w.key.append(w.buffers[1], key)
	w.buffers[3] = w.value.append(w.buffers[3], value)
	w.buffers[0] = writable.AppendVInt(w.buffers[0], int64(len(w.buffers[1])-keys))
	w.buffers[2] = writable.AppendVInt(w.buffers[2], int64(len(w.buffers[3])-values))
	w.records++
	if len(w.buffers[1])+len(w.buffers[3]) < blockSize {
		return nil
	}
	return w.writeBlock()
}

func (w *writer) writeBlock() error {
	if err := w.sync(); err != nil {
		return err
	}
	if err := w.write(writable.AppendVInt(nil, w.records)); err != nil {
		return err
	}
	for i, content := range w.buffers {
		compressed, err := w.compress(content)
		if err != nil {
			return err
		}
		if len(compressed) > math.MaxInt32 || len(content) > math.MaxInt32 {
			return fmt.Errorf("a record makes a block of %d bytes, too large for a SequenceFile: divide it", len(content))
		}
		if err := w.write(writable.AppendVInt(nil, int64(len(compressed)))); err != nil {
			return err
		}
		if err := w.write(compressed); err != nil {
			return err
		}
		w.buffers[i] = content[:0]
	}
	w.records = 0
	return nil
}

// Close writes the last block.
func (w *writer) Close() error {
	if w.records == 0 {
		return nil
	}
	return w.writeBlock()
}
