// Package codec encodes task inputs and results. Arrow record batches are encoded as an
// Arrow IPC stream, all other values as CBOR.
package codec

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/fxamacker/cbor/v2"
)

var (
	recordType  = reflect.TypeFor[arrow.RecordBatch]()
	recordsType = reflect.TypeFor[[]arrow.RecordBatch]()
)

var (
	encoder = mustEncMode(cbor.EncOptions{Time: cbor.TimeRFC3339Nano, TimeTag: cbor.EncTagRequired})
	decoder = mustDecMode(cbor.DecOptions{
		// The values come from processes of the same application over authenticated
		// connections, so the limits are high. As in Go, strings may contain any bytes.
		MaxArrayElements: 1<<31 - 1,
		MaxMapPairs:      1<<31 - 1,
		MaxNestedLevels:  1 << 10,
		UTF8:             cbor.UTF8DecodeInvalid,
		DefaultMapType:   reflect.TypeFor[map[string]any](),
		IntDec:           cbor.IntDecConvertSignedOrBigInt,
	})
)

func mustEncMode(options cbor.EncOptions) cbor.UserBufferEncMode {
	mode, err := options.UserBufferEncMode()
	if err != nil {
		panic("codec: " + err.Error())
	}
	return mode
}

func mustDecMode(options cbor.DecOptions) cbor.DecMode {
	mode, err := options.DecMode()
	if err != nil {
		panic("codec: " + err.Error())
	}
	return mode
}

// Check returns an error if values of type t cannot be sent, because t contains a
// channel, a function, an unsafe pointer, or a struct without exported fields. It cannot
// check the values of interfaces.
func Check(t reflect.Type) error {
	if t == recordType || t == recordsType {
		return nil
	}
	return check(t, t.String(), map[reflect.Type]bool{})
}

// Encode encodes a value of type T.
func Encode[T any](value T) ([]byte, error) {
	switch reflect.TypeFor[T]() {
	case recordType:
		record, _ := any(value).(arrow.RecordBatch)
		if record == nil {
			return nil, fmt.Errorf("a nil arrow.RecordBatch has no schema to send")
		}
		return encodeRecords([]arrow.RecordBatch{record})
	case recordsType:
		return encodeRecords(any(value).([]arrow.RecordBatch))
	}
	encoded, err := encoder.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %v: %w", reflect.TypeFor[T](), err)
	}
	return encoded, nil
}

// EncodeLarge returns the same bytes as Encode, but needs less memory for a large value,
// because it does not copy the result. Encode copies it out of a reused buffer.
func EncodeLarge[T any](value T) ([]byte, error) {
	if t := reflect.TypeFor[T](); t == recordType || t == recordsType {
		return Encode(value)
	}
	var buffer bytes.Buffer
	if err := encoder.MarshalToBuffer(value, &buffer); err != nil {
		return nil, fmt.Errorf("encode %v: %w", reflect.TypeFor[T](), err)
	}
	return buffer.Bytes(), nil
}

// Decode decodes the result of Encode for a value of type T.
func Decode[T any](data []byte) (T, error) {
	var value T
	switch reflect.TypeFor[T]() {
	case recordType:
		records, err := decodeRecords(data)
		if err != nil {
			return value, err
		}
		if len(records) != 1 {
			return value, fmt.Errorf("decode arrow.RecordBatch: %d records in its stream", len(records))
		}
		return any(records[0]).(T), nil
	case recordsType:
		records, err := decodeRecords(data)
		if err != nil {
			return value, err
		}
		return any(records).(T), nil
	}
	if err := decoder.Unmarshal(data, &value); err != nil {
		return value, fmt.Errorf("decode %v: %w", reflect.TypeFor[T](), err)
	}
	return value, nil
}

// EncodeAny encodes value as Encode does. If value is a pointer, it encodes the value that
// the pointer points to. Unlike Encode, it does not support Arrow record batches.
func EncodeAny(value any) ([]byte, error) {
	encoded, err := encoder.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	return encoded, nil
}

// DecodeInto decodes the result of EncodeAny into the variable to which pointer points.
func DecodeInto(data []byte, pointer any) error {
	if err := decoder.Unmarshal(data, pointer); err != nil {
		return fmt.Errorf("decode %T: %w", pointer, err)
	}
	return nil
}
