// Package record encodes the values and keys of records as bytes. The end of an encoding cannot
// be determined from its bytes, so the caller must store its length.
//
// A Codec or KeyCodec is created once for a type, by reflection. After that, encoding and
// decoding need no reflection, except for the parts that are encoded as CBOR, and allocate only
// the memory of the decoded value. Both types are safe for concurrent use.
//
// A string or []byte that is the whole value is encoded as its own bytes. Within other values,
// the encoding of a string, a []byte or another slice begins with its length. Integers of more
// than one byte are varints, and floats are little-endian. The encodings of the elements of an
// array, or of the exported fields of a struct, are concatenated. Maps, interfaces, recursive
// types, and structs and slices that marshal themselves are encoded as CBOR by package codec. A
// nil slice is decoded as nil, except if it is a []byte that is the whole value.
package record

import (
	"reflect"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/codec"
)

// A Codec encodes values of type T.
type Codec[T any] struct {
	layout
	shortcut code   // the code of T if it is codeString, codeBytes, codeInt64 or codeCBOR, otherwise codeNone
	name     string // the name of T, for error messages
}

var codecs sync.Map // maps a reflect.Type to its *Codec

// CodecFor returns the codec of type T. It fails if values of T cannot be sent to other
// processes (see codec.Check). The error names the part of T that is the reason.
func CodecFor[T any]() (*Codec[T], error) {
	t := reflect.TypeFor[T]()
	if known, ok := codecs.Load(t); ok {
		return known.(*Codec[T]), nil
	}
	if err := codec.Check(t); err != nil {
		return nil, err
	}
	layout, err := valueLayouter{map[reflect.Type]bool{}}.layout(t, t.String())
	if err != nil {
		return nil, err
	}
	made, _ := codecs.LoadOrStore(t, &Codec[T]{layout: layout, shortcut: layout.shortcut(t), name: t.String()})
	return made.(*Codec[T]), nil
}

// Append appends the encoding of v to b.
func (c *Codec[T]) Append(b []byte, v T) ([]byte, error) {
	switch c.shortcut {
	case codeString:
		return append(b, *valueAt[string](addressOf(&v))...), nil
	case codeBytes:
		return append(b, *valueAt[[]byte](addressOf(&v))...), nil
	case codeInt64:
		return appendVarint(b, *valueAt[int64](addressOf(&v))), nil
	case codeCBOR:
		encoded, err := codec.Encode(v)
		return append(b, encoded...), err
	}
	if c.needsHeap {
		boxed := newOnHeap[T]()
		*boxed = v
		return appendValue(b, addressOf(boxed), c.parts)
	}
	return appendValue(b, addressOf(&v), c.parts)
}

// Decode decodes b, which must be the encoding of one value. A []byte in the result shares the
// memory of b, so it is valid only until b changes. The parts that are encoded as CBOR do not
// share memory with b.
func (c *Codec[T]) Decode(b []byte) (T, error) {
	var v T
	switch c.shortcut {
	case codeString:
		*valueAt[string](addressOf(&v)) = string(b)
		return v, nil
	case codeBytes:
		*valueAt[[]byte](addressOf(&v)) = b[:len(b):len(b)]
		return v, nil
	case codeInt64:
		r := reader{b: b}
		if x, ok := r.varint(); ok && r.at == len(b) {
			*valueAt[int64](addressOf(&v)) = x
			return v, nil
		}
	case codeCBOR:
		return codec.Decode[T](b)
	}
	r := reader{b: b}
	if c.needsHeap {
		boxed := newOnHeap[T]()
		err := r.value(addressOf(boxed), c.parts)
		return *boxed, r.checkEnd(c.name, err)
	}
	err := r.value(addressOf(&v), c.parts)
	return v, r.checkEnd(c.name, err)
}

// newOnHeap returns a pointer to a new zero value on the heap. The built-in function new would
// allocate the value on the stack if the compiler found that it does not escape.
func newOnHeap[T any]() *T { return reflect.New(reflect.TypeFor[T]()).Interface().(*T) }
