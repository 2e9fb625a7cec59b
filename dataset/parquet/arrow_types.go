package parquet

import (
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// recordValue is used as mirror.value for record batches. It returns, for both results, the
// type in which values of a column are stored until they are appended to a record batch.
func recordValue(node *schema.PrimitiveNode) (declared, shown reflect.Type) {
	same := func(t reflect.Type) (reflect.Type, reflect.Type) { return t, t }
	switch arrowValue(node).ID() {
	case arrow.BOOL:
		return same(reflect.TypeFor[bool]())
	case arrow.INT8:
		return same(reflect.TypeFor[int8]())
	case arrow.INT16:
		return same(reflect.TypeFor[int16]())
	case arrow.INT32:
		return same(reflect.TypeFor[int32]())
	case arrow.INT64:
		return same(reflect.TypeFor[int64]())
	case arrow.UINT8:
		return same(reflect.TypeFor[uint8]())
	case arrow.UINT16:
		return same(reflect.TypeFor[uint16]())
	case arrow.UINT32:
		return same(reflect.TypeFor[uint32]())
	case arrow.UINT64:
		return same(reflect.TypeFor[uint64]())
	case arrow.FLOAT16, arrow.FLOAT32:
		return same(reflect.TypeFor[float32]())
	case arrow.FLOAT64:
		return same(reflect.TypeFor[float64]())
	case arrow.DECIMAL128:
		return same(numberType)
	case arrow.DATE32:
		return same(dateType)
	case arrow.TIME32, arrow.TIME64:
		return same(durationType)
	case arrow.TIMESTAMP:
		return same(timeType)
	}
	return same(reflect.TypeFor[[]byte]())
}

// arrowFields returns the Arrow fields of a group that the type mirror made.
func arrowFields(group *field) []arrow.Field {
	var fields []arrow.Field
	for _, child := range group.children {
		fields = append(fields, arrow.Field{Name: child.name, Type: arrowType(child), Nullable: isNullable(child)})
	}
	return fields
}

func isNullable(f *field) bool { return f.node.RepetitionType() == parquet.Repetitions.Optional }

// arrowType returns the Arrow type of a field that the type mirror made.
func arrowType(f *field) arrow.DataType {
	switch f.shape {
	case groupShape:
		return arrow.StructOf(arrowFields(f)...)
	case listShape:
		element := f.children[0]
		if isArrowMap(f) {
			t := arrow.MapOf(arrowType(element.children[0]), arrowType(element.children[1]))
			t.SetItemNullable(isNullable(element.children[1]))
			return t
		}
		return arrow.ListOfField(arrow.Field{Name: "element", Type: arrowType(element), Nullable: isNullable(element)})
	}
	return arrowValue(f.node.(*schema.PrimitiveNode))
}

// isArrowMap reports whether a list becomes a map in Arrow: it is a map in the file, and
// its keys cannot be null. Arrow's maps have no null keys.
func isArrowMap(list *field) bool {
	group, ok := list.node.(*schema.GroupNode)
	element := list.children[0]
	return ok && isMap(group) && element.shape == groupShape && len(element.children) == 2 && !isNullable(element.children[0])
}

// arrowValue returns the Arrow type of a column's values.
func arrowValue(node *schema.PrimitiveNode) arrow.DataType {
	switch l := node.LogicalType().(type) {
	case schema.DecimalLogicalType:
		if l.Precision() <= maxPrecision {
			return &arrow.Decimal128Type{Precision: l.Precision(), Scale: l.Scale()}
		}
	case schema.DateLogicalType:
		return arrow.FixedWidthTypes.Date32
	case schema.TimeLogicalType:
		if unit := arrowUnit(l.TimeUnit()); unit != arrow.Millisecond {
			return &arrow.Time64Type{Unit: unit}
		}
		return arrow.FixedWidthTypes.Time32ms
	case schema.TimestampLogicalType:
		zone := ""
		if l.IsAdjustedToUTC() {
			zone = "UTC"
		}
		return &arrow.TimestampType{Unit: arrowUnit(l.TimeUnit()), TimeZone: zone}
	case schema.Float16LogicalType:
		return arrow.FixedWidthTypes.Float16
	case schema.IntLogicalType:
		return arrowInteger(int(l.BitWidth()), l.IsSigned())
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return arrow.BinaryTypes.String
	}
	switch node.PhysicalType() {
	case parquet.Types.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case parquet.Types.Int32:
		return arrow.PrimitiveTypes.Int32
	case parquet.Types.Int64:
		return arrow.PrimitiveTypes.Int64
	case parquet.Types.Int96:
		return arrow.FixedWidthTypes.Timestamp_us
	case parquet.Types.Float:
		return arrow.PrimitiveTypes.Float32
	case parquet.Types.Double:
		return arrow.PrimitiveTypes.Float64
	case parquet.Types.FixedLenByteArray:
		return &arrow.FixedSizeBinaryType{ByteWidth: node.TypeLength()}
	}
	return arrow.BinaryTypes.Binary
}

func arrowUnit(unit schema.TimeUnitType) arrow.TimeUnit {
	switch unit {
	case schema.TimeUnitMillis:
		return arrow.Millisecond
	case schema.TimeUnitMicros:
		return arrow.Microsecond
	}
	return arrow.Nanosecond
}

func arrowInteger(bits int, signed bool) arrow.DataType {
	types := map[int][2]arrow.DataType{
		8:  {arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int8},
		16: {arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int16},
		32: {arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32},
		64: {arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64},
	}
	if signed {
		return types[bits][1]
	}
	return types[bits][0]
}
