package parquet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/bobbin-yarn/bobbin/storage"
)

// jsonMemory is how many bytes of memory JSONLines may use.
const jsonMemory = 256 << 20

// JSONLines writes the first limit rows of a Parquet file to w, each row as a JSON object
// on one line. If limit is negative, it writes all rows. A file of 0 bytes has no rows.
//
// Decimals, dates and times are written as strings, as are floats that JSON does not have,
// such as NaN. Bytes are written as strings in base64. A map is written as an object if its
// keys are strings, integers, dates or decimals, otherwise as an array of objects with a
// key and a value.
func JSONLines(ctx context.Context, opened storage.File, limit int, w io.Writer) error {
	info := opened.Stat()
	if limit == 0 || info.Size == 0 {
		return nil
	}
	r := &splitReader{ctx: ctx, split: storage.Split{Path: info.Path, Length: info.Size, Last: true}, memory: jsonMemory}
	r.input = &input{File: opened}
	if err := r.readFooter(); err != nil {
		return err
	}
	var row *field
	var shown reflect.Type
	err := recoverPanic(damagedMessage, func() (err error) {
		row, shown, err = mirror{valueFor, true}.group(r.file.MetaData().Schema.Root(), nil)
		return err
	})
	if err != nil {
		return r.malformed(err)
	}
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var rows reflect.Value
	newRows := func(n int) unsafe.Pointer {
		rows = reflect.MakeSlice(reflect.SliceOf(shown), n, n)
		return rows.UnsafePointer()
	}
	var failed error
	count := 0
	err = r.batches(row, shown.Size(), newRows, func(i int) bool {
		if failed = encoder.Encode(rows.Index(i).Addr().Interface()); failed != nil {
			failed = fmt.Errorf("%s: row %d: %w", info.Path, count, failed)
			return false
		}
		count++
		return count != limit
	})
	return errors.Join(err, failed, out.Flush())
}

// jsonName returns name with _ in place of characters that the JSON name in a struct tag
// cannot have.
func jsonName(name string) string {
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune("\"'`,\\", c) || c < ' ' {
			return '_'
		}
		return c
	}, name)
	if name == "" || name == "-" {
		return "_"
	}
	return name
}

// isJSONKey reports whether a field's values can be the keys of a JSON object.
func isJSONKey(key *field) bool {
	return !key.pointer && key.shape == valueShape && (key.typ.Kind() == reflect.String || key.typ == numberType || isInteger(key.typ) && key.typ != durationType)
}

// valueFor is used as mirror.value for JSON. declared is a type for a column's values.
// shown is a type with the same memory layout that has the right form in JSON.
func valueFor(node *schema.PrimitiveNode) (declared, shown reflect.Type) {
	same := func(t reflect.Type) (reflect.Type, reflect.Type) { return t, t }
	switch l := node.LogicalType().(type) {
	case schema.DecimalLogicalType:
		if l.Precision() <= maxPrecision {
			return same(numberType)
		}
	case schema.DateLogicalType:
		return same(dateType)
	case schema.TimeLogicalType:
		return durationType, reflect.TypeFor[timeOfDay]()
	case schema.TimestampLogicalType:
		return same(timeType)
	case schema.Float16LogicalType:
		return reflect.TypeFor[float64](), reflect.TypeFor[jsonFloat]()
	case schema.IntLogicalType:
		if !l.IsSigned() {
			return same(reflect.TypeFor[uint64]())
		}
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return same(reflect.TypeFor[string]())
	}
	switch node.PhysicalType() {
	case parquet.Types.Boolean:
		return same(reflect.TypeFor[bool]())
	case parquet.Types.Int32, parquet.Types.Int64:
		return same(reflect.TypeFor[int64]())
	case parquet.Types.Int96:
		return same(timeType)
	case parquet.Types.Float, parquet.Types.Double:
		return reflect.TypeFor[float64](), reflect.TypeFor[jsonFloat]()
	}
	return same(reflect.TypeFor[[]byte]())
}

// jsonFloat is a float64 whose JSON form is a string if JSON has no such number, as for
// NaN.
type jsonFloat float64

func (f jsonFloat) MarshalJSON() ([]byte, error) {
	if v := float64(f); math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return json.Marshal(float64(f))
}

// timeOfDay is a time.Duration since midnight. Its JSON form is like "23:59:59.5".
type timeOfDay time.Duration

func (c timeOfDay) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time{}.Add(time.Duration(c)).Format("15:04:05.999999999"))
}
