package record

import (
	"reflect"
	"unsafe"
)

// An address is where a value is in memory. The layout that a codec was built
// with says which types are at which offsets from it. This file is the only one
// of the package that uses package unsafe.
//
// Why this is valid:
//   - An address is an unsafe.Pointer, never an integer: the garbage collector
//     sees it, and moves it with the stack that it points to.
//   - Offsets come from reflect.StructField.Offset and from multiples of
//     reflect.Type.Size below the length, so that an address stays in its value.
//   - A value is only read and written as a type with the same memory layout and
//     the same pointers: a named type as its kind, the header of any slice as
//     that of a []struct{}.
type address struct{ p unsafe.Pointer }

func addressOf[T any](v *T) address { return address{unsafe.Pointer(v)} }

// valueAt returns the value at a, which must have the memory layout of a T.
func valueAt[T any](a address) *T { return (*T)(a.p) }

func (a address) plus(offset uintptr) address { return address{unsafe.Add(a.p, offset)} }

// indirect returns what the pointer at a points to.
func (a address) indirect() (target address, ok bool) {
	target = address{*(*unsafe.Pointer)(a.p)}
	return target, target.p != nil
}

// setPointer makes the pointer at a point to target. As target has the type
// unsafe.Pointer, the compiler emits the write barrier.
func (a address) setPointer(target address) { *(*unsafe.Pointer)(a.p) = target.p }

// elements returns the elements of the slice at a. A nil slice is not ok. All
// slices have the same header, and the length counts elements of any size.
func (a address) elements() (first address, n int, ok bool) {
	slice := *(*[]struct{})(a.p)
	return address{unsafe.Pointer(unsafe.SliceData(slice))}, len(slice), slice != nil
}

// setElements makes the slice at a the n elements from first on.
func (a address) setElements(first address, n int) {
	*(*[]struct{})(a.p) = unsafe.Slice((*struct{})(first.p), n)
}

// bytes returns the n bytes at a, an array of bytes.
func (a address) bytes(n int) []byte { return unsafe.Slice((*byte)(a.p), n) }

// bytesOf returns the bytes of s, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// newValue allocates a value of type t.
func newValue(t reflect.Type) address { return address{reflect.New(t).UnsafePointer()} }

// newElements allocates the n elements of a slice of type t.
func newElements(t reflect.Type, n int) address {
	return address{reflect.MakeSlice(t, n, n).UnsafePointer()}
}

// newPointerFree allocates size bytes for values without pointers. They are aligned as
// an uint64 is, which is enough for each of Go's types.
func newPointerFree(size uintptr) address {
	return address{unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))}
}

// reflectValue returns the value at a, of type t, for reflection. The value must be
// on the heap.
//
// Reflection may keep pointers, so that the compiler would put every value that
// it sees here, even in code that never runs, on the heap. The detour over an
// integer prevents that. It is valid because the value does not move (it is on
// the heap) and is not freed (the caller of Append or Decode has it).
func (a address) reflectValue(t reflect.Type) reflect.Value {
	bits := uintptr(a.p)
	return reflect.NewAt(t, *(*unsafe.Pointer)(unsafe.Pointer(&bits)))
}
