package record

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/codec"
)

// value reads a value that appendValue encoded, and stores it at address a. The memory there
// must be zero.
func (r *reader) value(a address, parts []part) error {
	for i := range parts {
		p := &parts[i]
		at, start, ok := a.plus(p.offset), r.at, false
		switch p.code {
		case codeBool:
			if b := r.next(1); len(b) == 1 && b[0] <= 1 {
				*valueAt[bool](at), ok = b[0] == 1, true
			}
		case codeInt8, codeUint8:
			if b := r.next(1); len(b) == 1 {
				*valueAt[byte](at), ok = b[0], true
			}
		case codeInt16:
			var x int64
			x, ok = r.varint()
			*valueAt[int16](at), ok = int16(x), ok && int64(int16(x)) == x
		case codeInt32:
			var x int64
			x, ok = r.varint()
			*valueAt[int32](at), ok = int32(x), ok && int64(int32(x)) == x
		case codeInt64:
			*valueAt[int64](at), ok = r.varint()
		case codeUint16:
			var x uint64
			x, ok = r.uvarint()
			*valueAt[uint16](at), ok = uint16(x), ok && x <= math.MaxUint16
		case codeUint32:
			var x uint64
			x, ok = r.uvarint()
			*valueAt[uint32](at), ok = uint32(x), ok && x <= math.MaxUint32
		case codeUint64:
			*valueAt[uint64](at), ok = r.uvarint()
		case codeFloat32:
			if b := r.next(4); len(b) == 4 {
				*valueAt[float32](at), ok = math.Float32frombits(binary.LittleEndian.Uint32(b)), true
			}
		case codeFloat64:
			if b := r.next(8); len(b) == 8 {
				*valueAt[float64](at), ok = math.Float64frombits(binary.LittleEndian.Uint64(b)), true
			}
		case codeString:
			var n int
			if n, ok = r.length(1); ok {
				*valueAt[string](at) = string(r.next(n))
			}
		case codeBytes:
			var n int
			var isNil bool
			if n, isNil, ok = r.optionalLength(1); ok && !isNil {
				*valueAt[[]byte](at) = r.next(n)
			}
		case codeByteArray:
			ok = copy(at.bytes(p.count), r.next(p.count)) == p.count
		case codeTime:
			if n, lengthOK := r.length(1); lengthOK {
				ok = valueAt[time.Time](at).UnmarshalBinary(r.next(n)) == nil
			}
		case codeArray:
			if err := r.values(at, p.count, p.elem); err != nil {
				return err
			}
			ok = true
		case codeStrings:
			*valueAt[[]string](at), ok = r.strings()
		case codeSlice, codeFlatSlice:
			var n int
			var isNil bool
			if n, isNil, ok = r.optionalLength(p.elem.min); ok && !isNil {
				first := p.newElements(n)
				if err := r.values(first, n, p.elem); err != nil {
					return err
				}
				at.setElements(first, n)
			}
		case codePointer:
			b := r.next(1)
			if ok = len(b) == 1 && b[0] <= 1; ok && b[0] == 1 {
				target := newValue(p.t)
				if err := r.value(target, p.elem.parts); err != nil {
					return err
				}
				at.setPointer(target)
			}
		case codeCBOR:
			var n int
			if n, ok = r.length(1); ok {
				if err := codec.DecodeInto(r.next(n), at.reflectValue(p.t).Interface()); err != nil {
					return p.error("at byte %d of %d: %w", start, len(r.b), err)
				}
			}
		}
		if !ok {
			return r.malformed(p, start)
		}
	}
	return nil
}

func (r *reader) values(first address, n int, l *layout) error {
	if l.isFloat() && n <= (len(r.b)-r.at)/8 {
		floats := r.next(8 * n)
		for i := range n {
			*valueAt[uint64](first.plus(uintptr(i) * 8)) = binary.LittleEndian.Uint64(floats[8*i:])
		}
		return nil
	}
	for i := range n {
		if err := r.value(first.plus(uintptr(i)*l.size), l.parts); err != nil {
			return err
		}
	}
	return nil
}

// strings reads a slice of strings. The strings share the memory of one string, so there are
// only two allocations for any number of strings.
func (r *reader) strings() ([]string, bool) {
	n, isNil, ok := r.optionalLength(1)
	if isNil || !ok {
		return nil, ok
	}
	start := r.at
	for range n {
		length, ok := r.length(1)
		if !ok {
			return nil, false
		}
		r.at += length
	}
	all, lengths := string(r.b[start:r.at]), reader{b: r.b[:r.at], at: start}
	list := make([]string, n)
	for i := range list {
		length, _ := lengths.length(1)
		list[i] = all[lengths.at-start:][:length]
		lengths.at += length
	}
	return list, true
}

// newElements allocates n elements of the slice that p describes. Elements that contain no
// pointers are allocated without reflection, because reflection would need an additional
// allocation.
func (p *part) newElements(n int) address {
	if p.code == codeFlatSlice {
		return newPointerFree(uintptr(n) * p.elem.size)
	}
	return newElements(p.t, n)
}
