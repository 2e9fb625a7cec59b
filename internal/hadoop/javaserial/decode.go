// Package javaserial decodes the output of Java's ObjectOutputStream into plain Go
// values. It loads no classes and executes nothing. Hadoop's indexed format of
// aggregated logs contains an index in this form.
//
// The format is described in chapter 6 of the Java Object Serialization
// Specification (stream protocol, version 5).
package javaserial

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrFormat means that a stream is not the output of ObjectOutputStream, is truncated, or
// contains unsupported elements. Errors that wrap it state the position in bytes.
var ErrFormat = errors.New("not a stream of Java objects that can be read")

// Type codes, the first byte of each element.
const (
	tcNull = 0x70 + iota
	tcReference
	tcClassDesc
	tcObject
	tcString
	tcArray
	tcClass
	tcBlockData
	tcEndBlockData
	tcReset
	tcBlockDataLong
	tcException
	tcLongString
	tcProxyClassDesc
	tcEnum
)

// Flags of a class description.
const (
	scWriteMethod    = 0x01
	scSerializable   = 0x02
	scExternalizable = 0x04
	scBlockData      = 0x08
)

const (
	firstHandle = 0x7e0000
	maxDepth    = 200 // deepest nesting of objects that is decoded
)

// Decode returns the first object in a stream. Its errors wrap ErrFormat.
func Decode(stream []byte) (any, error) {
	d := &decoder{stream: stream}
	value, err := d.first()
	if err != nil {
		return nil, fmt.Errorf("%w: at byte %d: %w", ErrFormat, d.at, err)
	}
	return value, nil
}

// decoder reads a stream. It stores all elements, because later parts of the stream may refer
// to them by number.
type decoder struct {
	stream  []byte
	at      int
	depth   int
	handles []any // the elements by number: values and *classDesc
}

// classDesc is a class description in a stream.
type classDesc struct {
	name   string
	flags  byte
	fields []fieldDesc
	super  *classDesc
}

type fieldDesc struct {
	kind byte
	name string
}

func (d *decoder) first() (any, error) {
	header, err := d.take(4)
	if err != nil {
		return nil, err
	}
	if header[0] != 0xac || header[1] != 0xed || header[2] != 0 || header[3] != 5 {
		return nil, fmt.Errorf("it begins with %x", header)
	}
	return d.content()
}

func (d *decoder) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.stream)-d.at {
		return nil, fmt.Errorf("%d bytes are wanted and %d are left", n, len(d.stream)-d.at)
	}
	taken := d.stream[d.at : d.at+n]
	d.at += n
	return taken, nil
}

func (d *decoder) uint8() (byte, error) {
	b, err := d.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (d *decoder) uint16() (uint16, error) {
	b, err := d.take(2)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(b), nil
}

func (d *decoder) int32() (int32, error) {
	b, err := d.take(4)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(b)), nil
}

func (d *decoder) int64() (int64, error) {
	b, err := d.take(8)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// utf reads a string: its length in 2 bytes, and its bytes in Java's modified UTF-8. Modified
// UTF-8 differs from UTF-8 for NUL and characters above U+FFFF, which utf does not convert.
func (d *decoder) utf() (string, error) {
	n, err := d.uint16()
	if err != nil {
		return "", err
	}
	b, err := d.take(int(n))
	return string(b), err
}

func (d *decoder) remember(value any) int {
	d.handles = append(d.handles, value)
	return len(d.handles) - 1
}

// enter must be called before a nested element is decoded, and leave afterwards. enter fails if
// the nesting is deeper than maxDepth. kind names the nested elements in the error, such as
// "objects".
func (d *decoder) enter(kind string) error {
	if d.depth == maxDepth {
		return fmt.Errorf("%s lie more than %d deep in one another", kind, maxDepth)
	}
	d.depth++
	return nil
}

func (d *decoder) leave() { d.depth-- }

// content decodes one element that is a value rather than a class description.
func (d *decoder) content() (any, error) {
	if err := d.enter("objects"); err != nil {
		return nil, err
	}
	defer d.leave()
	kind, err := d.uint8()
	if err != nil {
		return nil, err
	}
	switch kind {
	case tcNull:
		return nil, nil
	case tcReference:
		return d.reference()
	case tcString:
		text, err := d.utf()
		if err == nil {
			d.remember(text)
		}
		return text, err
	case tcLongString:
		return d.longString()
	case tcObject:
		return d.object()
	case tcEnum:
		return d.enum()
	case tcArray:
		return d.array()
	case tcClass:
		desc, err := d.classDesc()
		if err != nil {
			return nil, err
		}
		class := &Class{Name: desc.className()}
		d.remember(class)
		return class, nil
	}
	return nil, fmt.Errorf("the element 0x%02x is none that is read", kind)
}

func (d *decoder) reference() (any, error) {
	handle, err := d.int32()
	if err != nil {
		return nil, err
	}
	index := int(handle) - firstHandle
	if index < 0 || index >= len(d.handles) {
		return nil, fmt.Errorf("a reference to the element 0x%x, which was not there", handle)
	}
	return d.handles[index], nil
}

func (d *decoder) longString() (any, error) {
	n, err := d.int64()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("a text of %d bytes", n)
	}
	b, err := d.take(int(n))
	if err != nil {
		return nil, err
	}
	text := string(b)
	d.remember(text)
	return text, nil
}

func (c *classDesc) className() string {
	if c == nil {
		return ""
	}
	return c.name
}

// classDesc reads a class description; nil if the stream contains null.
func (d *decoder) classDesc() (*classDesc, error) {
	if err := d.enter("classes"); err != nil {
		return nil, err
	}
	defer d.leave()
	kind, err := d.uint8()
	if err != nil {
		return nil, err
	}
	switch kind {
	case tcNull:
		return nil, nil
	case tcReference:
		value, err := d.reference()
		if err != nil {
			return nil, err
		}
		if desc, ok := value.(*classDesc); ok {
			return desc, nil
		}
		return nil, errors.New("a reference to a class is one to something else")
	case tcClassDesc:
		return d.newClassDesc()
	}
	return nil, fmt.Errorf("the element 0x%02x stands in place of a class", kind)
}

func (d *decoder) newClassDesc() (*classDesc, error) {
	desc := &classDesc{}
	var err error
	if desc.name, err = d.utf(); err != nil {
		return nil, err
	}
	if _, err = d.int64(); err != nil { // serialVersionUID
		return nil, err
	}
	d.remember(desc)
	if desc.flags, err = d.uint8(); err != nil {
		return nil, err
	}
	count, err := d.uint16()
	if err != nil {
		return nil, err
	}
	for range count {
		var field fieldDesc
		if field.kind, err = d.uint8(); err != nil {
			return nil, err
		}
		if field.name, err = d.utf(); err != nil {
			return nil, err
		}
		if field.kind == 'L' || field.kind == '[' {
			if _, err := d.content(); err != nil { // the type of the field, not needed
				return nil, err
			}
		}
		desc.fields = append(desc.fields, field)
	}
	if _, err := d.annotation(); err != nil {
		return nil, err
	}
	desc.super, err = d.classDesc()
	return desc, err
}

// annotation reads the data that a writeObject method wrote, and the end marker after the data.
// It returns only the data.
func (d *decoder) annotation() ([]any, error) {
	var all []any
	for {
		if d.at >= len(d.stream) {
			return nil, errors.New("it ends in what a class wrote itself")
		}
		switch d.stream[d.at] {
		case tcEndBlockData:
			d.at++
			return all, nil
		case tcBlockData, tcBlockDataLong:
			block, err := d.blockData()
			if err != nil {
				return nil, err
			}
			all = append(all, block)
		default:
			value, err := d.content()
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
	}
}

func (d *decoder) blockData() ([]byte, error) {
	kind, err := d.uint8()
	if err != nil {
		return nil, err
	}
	if kind == tcBlockData {
		n, err := d.uint8()
		if err != nil {
			return nil, err
		}
		return d.take(int(n))
	}
	n, err := d.int32()
	if err != nil {
		return nil, err
	}
	return d.take(int(n))
}

func (d *decoder) object() (any, error) {
	desc, err := d.classDesc()
	if err != nil {
		return nil, err
	}
	if desc == nil {
		return nil, errors.New("an object has no class")
	}
	object := &Object{Class: desc.name, Fields: map[string]any{}}
	d.remember(object)
	var chain []*classDesc
	for one := desc; one != nil; one = one.super {
		if len(chain) > maxDepth {
			return nil, fmt.Errorf("class %s has more than %d above it", desc.name, maxDepth)
		}
		chain = append(chain, one)
	}
	for i := len(chain) - 1; i >= 0; i-- { // superclasses first
		if err := d.part(chain[i], object); err != nil {
			return nil, fmt.Errorf("%s: %w", chain[i].name, err)
		}
	}
	return object, nil
}

// part reads the part of object that belongs to one of its classes, desc: the fields, and the
// data that the class's writeObject method wrote.
func (d *decoder) part(desc *classDesc, object *Object) error {
	switch {
	case desc.flags&scSerializable != 0:
		for _, field := range desc.fields {
			value, err := d.fieldValue(field.kind)
			if err != nil {
				return fmt.Errorf("%s: %w", field.name, err)
			}
			object.Fields[field.name] = value
		}
		if desc.flags&scWriteMethod == 0 {
			return nil
		}
	case desc.flags&scExternalizable == 0:
		return nil
	case desc.flags&scBlockData == 0:
		return errors.New("only the class itself knows where its own form ends")
	}
	data, err := d.annotation()
	object.Data = append(object.Data, data...)
	return err
}

func (d *decoder) fieldValue(kind byte) (any, error) {
	switch kind {
	case 'L', '[':
		return d.content()
	case 'B':
		b, err := d.uint8()
		return int8(b), err
	case 'Z':
		b, err := d.uint8()
		return b != 0, err
	case 'C':
		return d.uint16()
	case 'S':
		n, err := d.uint16()
		return int16(n), err
	case 'I':
		return d.int32()
	case 'J':
		return d.int64()
	case 'F':
		n, err := d.int32()
		return math.Float32frombits(uint32(n)), err
	case 'D':
		n, err := d.int64()
		return math.Float64frombits(uint64(n)), err
	}
	return nil, fmt.Errorf("a field of the type %q", kind)
}

func (d *decoder) enum() (any, error) {
	desc, err := d.classDesc()
	if err != nil {
		return nil, err
	}
	constant := &Enum{Class: desc.className()}
	d.remember(constant)
	name, err := d.content()
	if err != nil {
		return nil, err
	}
	text, ok := name.(string)
	if !ok {
		return nil, errors.New("the constant of an enumeration has no name")
	}
	constant.Name = text
	return constant, nil
}

func (d *decoder) array() (any, error) {
	desc, err := d.classDesc()
	if err != nil {
		return nil, err
	}
	name := desc.className()
	if len(name) < 2 || name[0] != '[' {
		return nil, fmt.Errorf("an array has the class %q", name)
	}
	array := &Array{Class: name}
	d.remember(array)
	count, err := d.int32()
	if err != nil {
		return nil, err
	}
	if int(count) < 0 || int(count) > len(d.stream)-d.at { // each element takes at least one byte
		return nil, fmt.Errorf("an array of %d elements, with %d bytes left", count, len(d.stream)-d.at)
	}
	for range count {
		value, err := d.fieldValue(name[1])
		if err != nil {
			return nil, err
		}
		array.Values = append(array.Values, value)
	}
	return array, nil
}
