package tfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// Decompress returns a reader of the content of one block that Hadoop compressed. raw is
// the size of the content in bytes; the reader of a truncated block returns fewer bytes.
// compression is "none" or "gz", which in TFiles means zlib's format, not gzip's.
func Decompress(compression string, compressed io.Reader, raw int64) (io.Reader, error) {
	switch compression {
	case "none":
		return io.LimitReader(compressed, raw), nil
	case "gz":
		return io.LimitReader(&inflater{compressed: bufio.NewReader(compressed)}, raw), nil
	case "lzo":
		return nil, errors.New("it is compressed with lzo, which bobbin does not read: yarn logs does where its node has the codec")
	}
	return nil, fmt.Errorf("it is compressed with %q, which is neither none nor gz", compression)
}

// inflater decompresses consecutive zlib streams.
type inflater struct {
	compressed *bufio.Reader
	stream     io.ReadCloser
	err        error
}

func (i *inflater) Read(p []byte) (int, error) {
	for i.err == nil {
		if i.stream == nil {
			if _, i.err = i.compressed.Peek(1); i.err != nil {
				break // the end, between two streams
			}
			if i.stream, i.err = zlib.NewReader(i.compressed); i.err != nil {
				i.err = unexpected(i.err)
				break
			}
		}
		n, err := i.stream.Read(p)
		if errors.Is(err, io.EOF) {
			i.err, i.stream = i.stream.Close(), nil
		} else {
			i.err = err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, i.err
}
