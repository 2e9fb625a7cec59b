package record

import (
	"reflect"
	"unsafe"
)

// An address is the address of a value in memory. A codec's layout defines which types are at
// which offsets from an address. This file is the only one of the package that uses package
// unsafe.
//
// This use is valid for the following reasons:
//   - An address is an unsafe.Pointer, never an integer. So the garbage collector treats it as
//     a pointer, and Go updates it when it moves the stack to which it points.
//   - Offsets are sums of reflect.StructField.Offset and multiples of reflect.Type.Size with a
//     factor less than the length of the array or slice. So an address plus an offset is within
//     the value.
//   - A value is only read and written as a type with the same memory layout and the same
//     pointers. For example, a named integer type is read as the built-in type, and the header
//     of any slice as the header of a []struct{}.
type address struct{ p unsafe.Pointer }

func addressOf[T any](v *T) address { return address{unsafe.Pointer(v)} }

// valueAt returns a pointer to the value at address a, which must have the memory layout of a T.
func valueAt[T any](a address) *T { return (*T)(a.p) }

func (a address) plus(offset uintptr) address { return address{unsafe.Add(a.p, offset)} }

// indirect returns the address that is stored in the pointer at address a. ok is false if the
// pointer is nil.
func (a address) indirect() (target address, ok bool) {
	target = address{*(*unsafe.Pointer)(a.p)}
	return target, target.p != nil
}

// setPointer stores target in the pointer at address a. The compiler emits the write barrier,
// because target.p has the type unsafe.Pointer.
func (a address) setPointer(target address) { *(*unsafe.Pointer)(a.p) = target.p }

// elements returns the address of the first element and the length of the slice at address a.
// ok is false if the slice is nil. The headers of all slices have the same layout, so any
// header can be read as the header of a []struct{}.
func (a address) elements() (first address, n int, ok bool) {
	slice := *(*[]struct{})(a.p)
	return address{unsafe.Pointer(unsafe.SliceData(slice))}, len(slice), slice != nil
}

// setElements sets the slice at address a to n elements, the first of which is at address first.
func (a address) setElements(first address, n int) {
	*(*[]struct{})(a.p) = unsafe.Slice((*struct{})(first.p), n)
}

// bytes returns the n bytes of the array at address a as a slice that shares the array's memory.
func (a address) bytes(n int) []byte { return unsafe.Slice((*byte)(a.p), n) }

// bytesOf returns the bytes of s without copying them. The caller must not change the result.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func newValue(t reflect.Type) address { return address{reflect.New(t).UnsafePointer()} }

// newElements allocates an array of n elements for a slice of type t.
func newElements(t reflect.Type, n int) address {
	return address{reflect.MakeSlice(t, n, n).UnsafePointer()}
}

// newPointerFree allocates size bytes for values without pointers. The bytes have the alignment
// of a uint64, which is sufficient for every Go type.
func newPointerFree(size uintptr) address {
	return address{unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))}
}

// reflectValue returns the value of type t at address a, for reflection. The value must be on
// the heap.
//
// Reflection may store pointers. So if the compiler found that the address of a value might be
// passed to reflection, it would allocate the value on the heap, even if this code never runs
// for its type. Converting the pointer to an integer and back hides it from the compiler. The
// conversion is valid because the value is on the heap, so it does not move, and because the
// caller of Append or Decode refers to the value, so it is not freed.
func (a address) reflectValue(t reflect.Type) reflect.Value {
	bits := uintptr(a.p)
	return reflect.NewAt(t, *(*unsafe.Pointer)(unsafe.Pointer(&bits)))
}
