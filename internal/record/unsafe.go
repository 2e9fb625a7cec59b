package record

import (
	"reflect"
	"unsafe"
)

// An address is where a value is in memory. A codec's layout says which types are at which
// offsets from an address. This file is the only one of the package that uses package
// unsafe.
//
// Why this is valid:
//   - An address is an unsafe.Pointer, never an integer. So the garbage collector sees it,
//     and Go changes it when it moves the stack that it points into.
//   - Offsets are sums of reflect.StructField.Offset and multiples of reflect.Type.Size
//     that are less than the length of the array or slice. So an address plus an offset
//     stays within the value.
//   - A value is only read and written as a type with the same memory layout and the same
//     pointers. For example, a named integer type is read as the built-in type, and the
//     header of any slice as that of a []struct{}.
type address struct{ p unsafe.Pointer }

func addressOf[T any](v *T) address { return address{unsafe.Pointer(v)} }

// valueAt returns a pointer to the value at a, which must have the memory layout of a T.
func valueAt[T any](a address) *T { return (*T)(a.p) }

func (a address) plus(offset uintptr) address { return address{unsafe.Add(a.p, offset)} }

// indirect returns the address that the pointer at a holds. ok is false if the pointer is
// nil.
func (a address) indirect() (target address, ok bool) {
	target = address{*(*unsafe.Pointer)(a.p)}
	return target, target.p != nil
}

// setPointer makes the pointer at a point to target. As target has the type
// unsafe.Pointer, the compiler emits the write barrier.
func (a address) setPointer(target address) { *(*unsafe.Pointer)(a.p) = target.p }

// elements returns the address of the first element and the length of the slice at a. ok is
// false if the slice is nil. All slices have the same header, whatever their elements, so
// it can be read as that of a []struct{}.
func (a address) elements() (first address, n int, ok bool) {
	slice := *(*[]struct{})(a.p)
	return address{unsafe.Pointer(unsafe.SliceData(slice))}, len(slice), slice != nil
}

// setElements sets the slice at a to the n elements that begin at first.
func (a address) setElements(first address, n int) {
	*(*[]struct{})(a.p) = unsafe.Slice((*struct{})(first.p), n)
}

// bytes returns the n bytes of the array at a as a slice that shares its memory.
func (a address) bytes(n int) []byte { return unsafe.Slice((*byte)(a.p), n) }

// bytesOf returns the bytes of s without copying them. They must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// newValue allocates a value of type t.
func newValue(t reflect.Type) address { return address{reflect.New(t).UnsafePointer()} }

// newElements allocates the n elements of a slice of type t.
func newElements(t reflect.Type, n int) address {
	return address{reflect.MakeSlice(t, n, n).UnsafePointer()}
}

// newPointerFree allocates size bytes for values without pointers. The bytes are aligned as
// a uint64 is, which is enough for every Go type.
func newPointerFree(size uintptr) address {
	return address{unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))}
}

// reflectValue returns the value at a, of type t, for reflection. The value must be
// on the heap.
//
// Reflection may keep pointers. So the compiler would put every value whose address could
// come here on the heap, even if this code never runs for its type. Converting the pointer
// to an integer and back hides it from the compiler. That is valid because the value does
// not move, as it is on the heap, and is not freed, as the caller of Append or Decode still
// refers to it.
func (a address) reflectValue(t reflect.Type) reflect.Value {
	bits := uintptr(a.p)
	return reflect.NewAt(t, *(*unsafe.Pointer)(unsafe.Pointer(&bits)))
}
