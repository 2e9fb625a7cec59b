package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"
)

// key reads a key that appendKey encoded, and stores it at address a. The memory there must be
// zero. It fails if appendKey could not have appended these bytes.
func (r *reader) key(a address, parts []part) error {
	for i := range parts {
		p := &parts[i]
		at, start := a.plus(p.offset), r.at
		ok := true
		switch p.code {
		case codeBool:
			var x byte
			x, ok = r.uint8()
			*valueAt[bool](at), ok = x == 1, ok && x <= 1
		case codeUint8:
			*valueAt[byte](at), ok = r.uint8()
		case codeInt8:
			*valueAt[byte](at), ok = r.uint8()
			*valueAt[byte](at) ^= signBit8
		case codeUint16:
			*valueAt[uint16](at), ok = r.uint16()
		case codeInt16:
			*valueAt[uint16](at), ok = r.uint16()
			*valueAt[uint16](at) ^= signBit16
		case codeUint32:
			*valueAt[uint32](at), ok = r.uint32()
		case codeInt32:
			*valueAt[uint32](at), ok = r.uint32()
			*valueAt[uint32](at) ^= signBit32
		case codeUint64:
			*valueAt[uint64](at), ok = r.uint64()
		case codeInt64:
			*valueAt[uint64](at), ok = r.uint64()
			*valueAt[uint64](at) ^= signBit64
		case codeFloat32:
			var bits uint32
			bits, ok = r.uint32()
			bits ^= ^uint32(int32(bits)>>31) | signBit32
			f := math.Float32frombits(bits)
			*valueAt[float32](at), ok = f, ok && f == f && bits != signBit32
		case codeFloat64:
			var bits uint64
			bits, ok = r.uint64()
			bits ^= ^uint64(int64(bits)>>63) | signBit64
			f := math.Float64frombits(bits)
			*valueAt[float64](at), ok = f, ok && f == f && bits != signBit64
		case codeString:
			var escaped []byte
			if escaped, ok = r.escaped(); ok {
				*valueAt[string](at) = string(escaped)
			}
		case codeBytes:
			*valueAt[[]byte](at), ok = r.escaped()
		case codeByteArray:
			ok = copy(at.bytes(p.count), r.next(p.count)) == p.count
		case codeTime:
			seconds, ok1 := r.uint64()
			nanoseconds, ok2 := r.uint32()
			if ok = ok1 && ok2 && nanoseconds < 1e9; ok {
				*valueAt[time.Time](at) = time.Unix(int64(seconds^signBit64)-unixToYear1, int64(nanoseconds)).UTC()
			}
		case codeArray:
			for i := range p.count {
				if err := r.key(at.plus(uintptr(i)*p.elem.size), p.elem.parts); err != nil {
					return err
				}
			}
		}
		if !ok {
			return r.malformed(p, start)
		}
	}
	return nil
}

func (r *reader) uint8() (byte, bool) {
	if b := r.next(1); len(b) == 1 {
		return b[0], true
	}
	return 0, false
}

func (r *reader) uint16() (uint16, bool) {
	if b := r.next(2); len(b) == 2 {
		return binary.BigEndian.Uint16(b), true
	}
	return 0, false
}

func (r *reader) uint32() (uint32, bool) {
	if b := r.next(4); len(b) == 4 {
		return binary.BigEndian.Uint32(b), true
	}
	return 0, false
}

func (r *reader) uint64() (uint64, bool) {
	if b := r.next(8); len(b) == 8 {
		return binary.BigEndian.Uint64(b), true
	}
	return 0, false
}

// escaped reads bytes that appendEscaped encoded. The result shares the memory of r.b if no
// zero byte was escaped.
func (r *reader) escaped() ([]byte, bool) {
	var unescaped []byte // the bytes read so far, without escapes; nil if no zero byte was escaped
	for {
		rest := r.b[r.at:]
		zero := bytes.IndexByte(rest, 0)
		if zero < 0 || zero+1 == len(rest) {
			return nil, false
		}
		r.at += zero + 2
		switch rest[zero+1] {
		case escapedZero:
			unescaped = append(unescaped, rest[:zero+1]...)
		case escapedEnd:
			if unescaped == nil {
				return rest[:zero:zero], true
			}
			return append(unescaped, rest[:zero]...), true
		default:
			return nil, false
		}
	}
}
