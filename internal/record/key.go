package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
)

// A KeyCodec encodes keys of type K. bytes.Compare orders the encodings as the keys are
// ordered, and two encodings are equal only if the keys are equal. Arrays and structs are
// ordered by their first element or field that differs. false precedes true. Times are ordered
// by their instants, whatever their locations.
//
// Integers are big-endian; for signed integers, the sign bit is inverted. Floats are
// big-endian; for positive floats, the sign bit is inverted, and for negative floats, all bits.
// A string or []byte that is the whole key is encoded as its own bytes. Within another key,
// each zero byte of a string or []byte is encoded as 0x00 0xFF, and 0x00 0x01 marks the end.
type KeyCodec[K any] struct {
	layout
	shortcut code // the code of K if it is codeString, codeBytes or codeInt64, otherwise codeNone
	name     string
}

var keyCodecs sync.Map // maps a reflect.Type to its *KeyCodec

// KeyCodecFor returns the codec of keys of type K. It fails if K contains a map, a slice other
// than []byte, a pointer, an interface, a complex number, a channel, a function, or a field
// that is not encoded (see isEncoded). The error names the part of K that prevents this.
func KeyCodecFor[K any]() (*KeyCodec[K], error) {
	t := reflect.TypeFor[K]()
	if known, ok := keyCodecs.Load(t); ok {
		return known.(*KeyCodec[K]), nil
	}
	layout, err := keyLayout(t, t.String())
	if err != nil {
		return nil, err
	}
	made, _ := keyCodecs.LoadOrStore(t, &KeyCodec[K]{layout: layout, shortcut: layout.shortcut(t), name: t.String()})
	return made.(*KeyCodec[K]), nil
}

// Append appends the encoding of k to b. It fails if k contains a NaN.
func (c *KeyCodec[K]) Append(b []byte, k K) ([]byte, error) {
	switch c.shortcut {
	case codeString:
		return append(b, *valueAt[string](addressOf(&k))...), nil
	case codeBytes:
		return append(b, *valueAt[[]byte](addressOf(&k))...), nil
	}
	return appendKey(b, addressOf(&k), c.parts)
}

// Bytes returns the encoding of k. The caller must not change the result. If k is a string or
// []byte, the result shares the memory of k. Otherwise it shares the memory of scratch if
// scratch is large enough.
func (c *KeyCodec[K]) Bytes(scratch []byte, k K) ([]byte, error) {
	switch c.shortcut {
	case codeString:
		return bytesOf(*valueAt[string](addressOf(&k))), nil
	case codeBytes:
		return *valueAt[[]byte](addressOf(&k)), nil
	}
	return appendKey(scratch[:0], addressOf(&k), c.parts)
}

// Decode decodes b, which must be the encoding of one key. A []byte in the result may share the
// memory of b, so it is valid only until b changes. Times are in UTC.
func (c *KeyCodec[K]) Decode(b []byte) (K, error) {
	var k K
	switch c.shortcut {
	case codeString:
		*valueAt[string](addressOf(&k)) = string(b)
		return k, nil
	case codeBytes:
		*valueAt[[]byte](addressOf(&k)) = b[:len(b):len(b)]
		return k, nil
	}
	r := reader{b: b}
	err := r.key(addressOf(&k), c.parts)
	return k, r.checkEnd(c.name, err)
}

// Hash returns the hash of an encoded key. All processes compute the same hash.
func Hash(key []byte) uint64 { return xxh3.Hash(key) }

// Prefix returns the first eight bytes of an encoded key as a big-endian number. A shorter key
// is padded with zeros. If the prefixes of two keys differ, they have the same order as the
// keys.
func Prefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var prefix uint64
	for i, b := range key {
		prefix |= uint64(b) << (56 - 8*i)
	}
	return prefix
}

// appendKey appends the encoding of the key at address a to b.
func appendKey(b []byte, a address, parts []part) ([]byte, error) {
	for i := range parts {
		p := &parts[i]
		at := a.plus(p.offset)
		switch p.code {
		case codeBool, codeUint8:
			b = append(b, *valueAt[byte](at))
		case codeInt8:
			b = append(b, *valueAt[byte](at)^signBit8)
		case codeInt16:
			b = binary.BigEndian.AppendUint16(b, *valueAt[uint16](at)^signBit16)
		case codeUint16:
			b = binary.BigEndian.AppendUint16(b, *valueAt[uint16](at))
		case codeInt32:
			b = binary.BigEndian.AppendUint32(b, *valueAt[uint32](at)^signBit32)
		case codeUint32:
			b = binary.BigEndian.AppendUint32(b, *valueAt[uint32](at))
		case codeInt64:
			b = binary.BigEndian.AppendUint64(b, *valueAt[uint64](at)^signBit64)
		case codeUint64:
			b = binary.BigEndian.AppendUint64(b, *valueAt[uint64](at))
		case codeFloat32:
			f := *valueAt[float32](at) + 0 // converts -0 to 0, so that equal keys have equal encodings
			if f != f {
				return nil, p.error("NaN cannot be a key")
			}
			bits := math.Float32bits(f)
			b = binary.BigEndian.AppendUint32(b, bits^(uint32(int32(bits)>>31)|signBit32))
		case codeFloat64:
			f := *valueAt[float64](at) + 0
			if f != f {
				return nil, p.error("NaN cannot be a key")
			}
			bits := math.Float64bits(f)
			b = binary.BigEndian.AppendUint64(b, bits^(uint64(int64(bits)>>63)|signBit64))
		case codeString:
			b = appendEscaped(b, bytesOf(*valueAt[string](at)))
		case codeBytes:
			b = appendEscaped(b, *valueAt[[]byte](at))
		case codeByteArray:
			b = append(b, at.bytes(p.count)...)
		case codeTime:
			t := valueAt[time.Time](at)
			b = binary.BigEndian.AppendUint64(b, uint64(t.Unix()+unixToYear1)^signBit64)
			b = binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()))
		case codeArray:
			var err error
			for i := range p.count {
				if b, err = appendKey(b, at.plus(uintptr(i)*p.elem.size), p.elem.parts); err != nil {
					return nil, err
				}
			}
		}
	}
	return b, nil
}

const (
	signBit8  = 1 << 7
	signBit16 = 1 << 15
	signBit32 = 1 << 31
	signBit64 = 1 << 63
)

// unixToYear1 is the number of seconds from the beginning of year 1 to the beginning of 1970.
// Like time.Time, keys count seconds from year 1. If they counted from 1970, some times would
// overflow an int64 and be ordered wrongly.
const unixToYear1 = 62135596800

// In a string within an encoded key, escapedZero follows each zero byte of the string. A zero
// byte and escapedEnd mark the end of the string. escapedEnd is less than escapedZero, so that a
// string precedes longer strings of which it is a prefix.
const (
	escapedEnd  = 0x01
	escapedZero = 0xFF
)

func appendEscaped(b, s []byte) []byte {
	for {
		zero := bytes.IndexByte(s, 0)
		if zero < 0 {
			return append(append(b, s...), 0, escapedEnd)
		}
		b = append(append(b, s[:zero]...), 0, escapedZero)
		s = s[zero+1:]
	}
}
