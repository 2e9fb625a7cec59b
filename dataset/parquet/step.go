package parquet

import (
	"errors"
	"reflect"
	"unsafe"
)

// stepKind is what a step does at the address that the previous steps returned.
type stepKind int

const (
	requiredStep stepKind = iota // fails if the value is null, because the field cannot be nil
	pointerStep                  // follows a pointer, which stays nil if the value is null
	listStep                     // selects an element of a slice
)

// step is one step of the path from the address of a row to a value of a column. It caches
// sizes and types, which reflection would be too slow to determine for each value.
type step struct {
	kind   stepKind
	offset uintptr // added to the address before the step
	def    int16   // lowest definition level at which the value at this step is not null
	// elementDef and rep are the definition and repetition levels of a list's elements.
	elementDef, rep int16
	typ             reflect.Type   // type to which the pointer points, or the slice's type
	size            uintptr        // bytes of typ, or of the slice's element
	index           int            // of the current element of the slice
	chunk           unsafe.Pointer // memory for chunkValues values
	used            int            // number of values in chunk that are in use
	empty           unsafe.Pointer // the data of an empty slice
}

// chunkValues is how many values behind pointers share one allocation. The allocation is
// freed when no pointer refers to any of these values.
const chunkValues = 16

func newPointerStep(offset uintptr, def int16, t reflect.Type) step {
	return step{kind: pointerStep, offset: offset, def: def, typ: t, size: t.Size(), used: chunkValues}
}

func newListStep(offset uintptr, def, elementDef, rep int16, t reflect.Type) step {
	return step{kind: listStep, offset: offset, def: def, elementDef: elementDef, rep: rep, typ: t, size: t.Elem().Size(),
		empty: reflect.MakeSlice(t, 0, 0).UnsafePointer()}
}

var (
	errNull   = errors.New("a value is null, and the field is not a pointer")
	errLevels = errors.New("a list has an element before its first one: the file is damaged")
)

// sliceHeader is the memory of a slice.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// addressOfValue follows steps from the row at the address at to a value whose levels are
// rep and def, and returns the value's address. It allocates missing targets of pointers
// and list elements. It returns nil if there is no value: a pointer on the path is null, or
// a list is null or empty. It fails with errNull if a struct is null but its field is not a
// pointer.
func addressOfValue(steps []step, at unsafe.Pointer, rep, def int16) (unsafe.Pointer, error) {
	for i := range steps {
		s := &steps[i]
		at = unsafe.Add(at, s.offset)
		switch s.kind {
		case requiredStep:
			if def < s.def {
				return nil, errNull
			}
		case pointerStep:
			if def < s.def {
				return nil, nil
			}
			p := (*unsafe.Pointer)(at)
			if *p == nil {
				*p = s.newValue()
			}
			at = *p
		case listStep:
			slice := (*sliceHeader)(at)
			if def < s.elementDef {
				if def >= s.def && slice.data == nil {
					slice.data = s.empty
				}
				return nil, nil
			}
			if rep < s.rep {
				s.index = 0
			} else if rep == s.rep {
				s.index++
			}
			if s.index > slice.len {
				return nil, errLevels
			}
			if s.index == slice.len {
				if s.index >= slice.cap {
					reflect.NewAt(s.typ, at).Elem().Grow(1)
				}
				slice.len++
			}
			at = unsafe.Add(slice.data, uintptr(s.index)*s.size)
		}
	}
	return at, nil
}

// newValue returns the address of a new zero value to which a pointer can point.
func (s *step) newValue() unsafe.Pointer {
	if s.used == chunkValues {
		s.chunk = reflect.MakeSlice(reflect.SliceOf(s.typ), chunkValues, chunkValues).UnsafePointer()
		s.used = 0
	}
	p := unsafe.Add(s.chunk, uintptr(s.used)*s.size)
	s.used++
	return p
}
