package record

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/codec"
)

// appendValues appends the encodings of n consecutive values, the first of which is at address
// first, to b.
func appendValues(b []byte, first address, n int, l *layout) ([]byte, error) {
	if l.isFloat() {
		for i := range n {
			b = binary.LittleEndian.AppendUint64(b, *valueAt[uint64](first.plus(uintptr(i) * 8)))
		}
		return b, nil
	}
	for i := range n {
		var err error
		if b, err = appendValue(b, first.plus(uintptr(i)*l.size), l.parts); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendValue appends the encoding of the value at address a to b.
func appendValue(b []byte, a address, parts []part) ([]byte, error) {
	var err error
	for i := range parts {
		p := &parts[i]
		at := a.plus(p.offset)
		switch p.code {
		case codeBool, codeInt8, codeUint8:
			b = append(b, *valueAt[byte](at))
		case codeInt16:
			b = appendVarint(b, int64(*valueAt[int16](at)))
		case codeInt32:
			b = appendVarint(b, int64(*valueAt[int32](at)))
		case codeInt64:
			b = appendVarint(b, *valueAt[int64](at))
		case codeUint16:
			b = appendUvarint(b, uint64(*valueAt[uint16](at)))
		case codeUint32:
			b = appendUvarint(b, uint64(*valueAt[uint32](at)))
		case codeUint64:
			b = appendUvarint(b, *valueAt[uint64](at))
		case codeFloat32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(*valueAt[float32](at)))
		case codeFloat64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(*valueAt[float64](at)))
		case codeString:
			s := *valueAt[string](at)
			b = append(appendUvarint(b, uint64(len(s))), s...)
		case codeBytes:
			b = appendBytes(b, *valueAt[[]byte](at))
		case codeByteArray:
			b = append(b, at.bytes(p.count)...)
		case codeTime:
			b, err = appendTime(b, valueAt[time.Time](at), p)
		case codeArray:
			b, err = appendValues(b, at, p.count, p.elem)
		case codeStrings, codeFlatSlice, codeSlice:
			first, n, ok := at.elements()
			if !ok {
				b = append(b, 0)
				continue
			}
			b, err = appendValues(appendUvarint(b, uint64(n)+1), first, n, p.elem)
		case codePointer:
			target, ok := at.indirect()
			if !ok {
				b = append(b, 0)
				continue
			}
			b, err = appendValue(append(b, 1), target, p.elem.parts)
		case codeCBOR:
			b, err = appendCBOR(b, at, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendUvarint(b []byte, x uint64) []byte {
	if x < 0x80 {
		return append(b, byte(x))
	}
	return binary.AppendUvarint(b, x)
}

func appendVarint(b []byte, x int64) []byte { return appendUvarint(b, uint64(x<<1)^uint64(x>>63)) }

// appendBytes appends the length of bytes plus one, and then bytes, to b. For nil it appends
// only 0.
func appendBytes(b, bytes []byte) []byte {
	if bytes == nil {
		return append(b, 0)
	}
	return append(appendUvarint(b, uint64(len(bytes))+1), bytes...)
}

func appendTime(b []byte, t *time.Time, p *part) ([]byte, error) {
	length := len(b)
	b, err := t.AppendBinary(append(b, 0))
	if err != nil {
		return nil, p.error("%w", err)
	}
	b[length] = byte(len(b) - length - 1)
	return b, nil
}

func appendCBOR(b []byte, a address, p *part) ([]byte, error) {
	encoded, err := codec.EncodeAny(a.reflectValue(p.t).Interface())
	if err != nil {
		return nil, p.error("%w", err)
	}
	return append(appendUvarint(b, uint64(len(encoded))), encoded...), nil
}
