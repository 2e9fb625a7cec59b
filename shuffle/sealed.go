package shuffle

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/bobbin-yarn/bobbin/block"
)

// A node's shuffle service sends files as they are, without encryption. So the data files that
// it serves are sealed: each section is divided into chunks, which are encrypted and
// authenticated (AES-256-GCM). The key of a file is derived from the application's secret and
// the output's name, which is unique. The nonce of a chunk contains the partition, the chunk's
// number in the section, and whether the chunk is the section's last. So a reader detects a
// chunk that was changed or moved, and a section that was truncated.
const (
	chunkSize       = 64 << 10 // bytes in a chunk before sealing; the last chunk of a section may have fewer
	sealOverhead    = 16       // bytes that sealing adds to a chunk
	sealedChunkSize = chunkSize + sealOverhead
)

// deriveKey derives a key of 32 bytes from the application's secret. Each purpose has a
// different key.
func deriveKey(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, "bobbin shuffle: "+purpose, 32)
	if err != nil {
		panic(err) // cannot happen: the lengths are constant
	}
	return key
}

// newSeal returns the cipher for the data file of the output with the given name.
func newSeal(secret []byte, name string) cipher.AEAD {
	aes, err := aes.NewCipher(deriveKey(secret, "output "+name))
	if err == nil {
		var seal cipher.AEAD
		if seal, err = cipher.NewGCM(aes); err == nil {
			return seal
		}
	}
	panic(err) // cannot happen: the key has a valid length
}

// chunkNonce returns the nonce of a chunk. chunk is the chunk's number in the section, from 0.
func chunkNonce(partition int, chunk int64, last bool) []byte {
	nonce := make([]byte, 12)
	binary.BigEndian.PutUint32(nonce, uint32(partition))
	binary.BigEndian.PutUint64(nonce[4:], uint64(chunk)<<1)
	if last {
		nonce[11] |= 1
	}
	return nonce
}

// sealedLength returns the sealed length, in bytes, of a section that has length bytes before
// sealing.
func sealedLength(length int64) int64 {
	return length + (length+chunkSize-1)/chunkSize*sealOverhead
}

// unsealedLength returns the length, in bytes, that a section had before sealing. sealed is
// its sealed length. unsealedLength fails with block.ErrDamaged if sealed is not a length that
// a sealed section can have.
func unsealedLength(sealed int64) (int64, error) {
	chunks := (sealed + sealedChunkSize - 1) / sealedChunkSize
	if length := sealed - chunks*sealOverhead; length >= 0 && sealedLength(length) == sealed {
		return length, nil
	}
	return 0, fmt.Errorf("%w: no sealed section has %d bytes", block.ErrDamaged, sealed)
}

// sealWriter seals the sections of an output and writes them to a file, one after the
// other.
type sealWriter struct {
	file      io.Writer
	seal      cipher.AEAD
	partition int
	chunk     int64  // number of the next chunk in its section
	pending   []byte // bytes of the next chunk that are not yet sealed
	sealed    []byte
	length    int64   // bytes of the sealed chunks of the current section
	offsets   []int64 // where sealed sections begin in the file, and where the last one ends
}

func newSealWriter(file io.Writer, seal cipher.AEAD) *sealWriter {
	return &sealWriter{file: file, seal: seal, pending: make([]byte, 0, chunkSize), offsets: []int64{0}}
}

// Write adds bytes to the current section.
func (w *sealWriter) Write(p []byte) (n int, err error) {
	n = len(p)
	for len(p) > 0 {
		if len(w.pending) == chunkSize { // more bytes follow, so this chunk is not the section's last
			if err := w.writeChunk(false); err != nil {
				return 0, err
			}
		}
		room := min(chunkSize-len(w.pending), len(p))
		w.pending = append(w.pending, p[:room]...)
		p = p[room:]
	}
	return n, nil
}

func (w *sealWriter) writeChunk(last bool) error {
	w.sealed = w.seal.Seal(w.sealed[:0], chunkNonce(w.partition, w.chunk, last), w.pending, nil)
	w.length += int64(len(w.sealed))
	w.chunk++
	w.pending = w.pending[:0]
	_, err := w.file.Write(w.sealed)
	return err
}

// endSection ends the current section. Later writes belong to the next partition's section.
func (w *sealWriter) endSection() error {
	if len(w.pending) > 0 {
		if err := w.writeChunk(true); err != nil {
			return err
		}
	}
	w.offsets = append(w.offsets, w.offsets[w.partition]+w.length)
	w.partition++
	w.chunk, w.length = 0, 0
	return nil
}

// openChunk decrypts a sealed chunk in place, and returns the decrypted bytes.
func openChunk(seal cipher.AEAD, sealed []byte, partition int, chunk int64, last bool) ([]byte, error) {
	opened, err := seal.Open(sealed[:0], chunkNonce(partition, chunk, last), sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: chunk %d of partition %d is not what was written", block.ErrDamaged, chunk, partition)
	}
	return opened, nil
}

// unsealer reads a sealed section from a stream.
type unsealer struct {
	input     io.Reader
	seal      cipher.AEAD
	partition int
	left      int64 // number of sealed bytes not yet read from input
	chunk     int64
	opened    []byte // decrypted bytes that Read has not yet returned
	buffer    []byte
}

// Read implements io.Reader. It fails with block.ErrDamaged if the bytes differ from those
// that were sealed.
func (u *unsealer) Read(p []byte) (int, error) {
	if len(u.opened) == 0 {
		if u.left == 0 {
			return 0, io.EOF
		}
		if u.buffer == nil {
			u.buffer = make([]byte, min(u.left, sealedChunkSize))
		}
		sealed := u.buffer[:min(u.left, sealedChunkSize)]
		if _, err := io.ReadFull(u.input, sealed); err != nil {
			return 0, err
		}
		u.left -= int64(len(sealed))
		var err error
		if u.opened, err = openChunk(u.seal, sealed, u.partition, u.chunk, u.left == 0); err != nil {
			return 0, err
		}
		u.chunk++
	}
	n := copy(p, u.opened)
	u.opened = u.opened[n:]
	return n, nil
}

// sealedFile reads a sealed data file as if it were not sealed. Only one goroutine may use
// it.
type sealedFile struct {
	file          *os.File
	seal          cipher.AEAD
	offsets       []int64 // where sections begin in the decrypted file, and where the last one ends
	sealedOffsets []int64 // where sections begin in the sealed file, and where the last one ends

	opened []byte // the most recently read chunk, decrypted
	at     int64  // offset of this chunk in the decrypted file
}

func newSealedFile(file *os.File, seal cipher.AEAD, offsets []int64) *sealedFile {
	f := &sealedFile{file: file, seal: seal, offsets: offsets, sealedOffsets: make([]int64, len(offsets))}
	for i := range len(offsets) - 1 {
		f.sealedOffsets[i+1] = f.sealedOffsets[i] + sealedLength(offsets[i+1]-offsets[i])
	}
	return f
}

// ReadAt implements io.ReaderAt, except that only one call may run at a time.
func (f *sealedFile) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		if offset < f.at || offset >= f.at+int64(len(f.opened)) {
			if err := f.load(offset); err != nil {
				return n, err
			}
		}
		copied := copy(p[n:], f.opened[offset-f.at:])
		n += copied
		offset += int64(copied)
	}
	return n, nil
}

// Close closes the file.
func (f *sealedFile) Close() error { return f.file.Close() }

// load reads and decrypts the chunk that contains the byte at offset of the decrypted file.
func (f *sealedFile) load(offset int64) error {
	f.opened = f.opened[:0]
	if offset < 0 || offset >= f.offsets[len(f.offsets)-1] {
		return io.EOF
	}
	// Empty sections begin at the same offset as the next section. The last section that
	// begins at or before offset contains the byte.
	next, _ := slices.BinarySearch(f.offsets, offset+1)
	partition := next - 1
	begin, end := f.offsets[partition], f.offsets[partition+1]
	chunk := (offset - begin) / chunkSize
	f.at = begin + chunk*chunkSize
	length := min(end-f.at, chunkSize)
	sealed := slices.Grow(f.opened, int(length+sealOverhead))[:length+sealOverhead]
	if _, err := f.file.ReadAt(sealed, f.sealedOffsets[partition]+chunk*sealedChunkSize); err != nil {
		return noEOF(err)
	}
	opened, err := openChunk(f.seal, sealed, partition, chunk, f.at+length == end)
	if err == nil {
		f.opened = opened
	}
	return err
}

// noEOF replaces io.EOF by io.ErrUnexpectedEOF. It is used where the end of the file is an
// error.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
