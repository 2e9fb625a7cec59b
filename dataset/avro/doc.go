// Package avro reads and writes Avro container files as data sets of structs.
//
//	orders := avro.Read[Order](p, "hdfs:///orders") // in a plan function
//	err := result.Save(ctx, "hdfs:///out", avro.Format, dataset.Compress("snappy"))
//
// A field of a struct is the Avro field with its name, or with the name in its tag. Options
// follow the name, separated by commas; the option "default" must be the last:
//
//	type Order struct {
//		ID    int64     `avro:"order_id"`
//		Note  *string   `avro:"note"`                    // nil if it is null, or the file has no such field
//		Place string    `avro:"place,alias=city"`        // named city in older files
//		Count int32     `avro:"count,default=1"`         // 1 if the file has no such field
//		Total string    `avro:"total,decimal(10,2)"`     // such as "12.50"
//		Day   time.Time `avro:"day,date"`
//		Cache any       `avro:"-"`                       // not in files
//	}
//
// Save writes Go types as these Avro types:
//
//	bool                               boolean
//	int8, int16, int32, uint8, uint16  int
//	int, int64, uint, uint32, uint64   long; values beyond int64 cannot be written
//	float32, float64                   float, double
//	string, text marshalers            string; with the option "uuid", the logical type uuid
//	[]byte                             bytes
//	[n]byte                            fixed
//	time.Time                          long, timestamp-micros; other types by the options timestamp-millis,
//	                                   timestamp-nanos, local-timestamp-millis, -micros and -nanos, date
//	time.Duration                      long, time-micros; int by the option time-millis
//	string, big.Rat                    bytes with the option decimal(precision,scale); a big.Rat cannot be sent
//	                                   between processes, so map it before a shuffle or Collect
//	*T                                 union of null and T, null by default
//	[]T, [n]T                          array
//	map[string]T                       map
//	struct                             record; the fields of an embedded one belong to the outer one
//
// [Schema] makes Save use another schema, for example a schema with enums.
//
// # Reading
//
// The schema of a file may differ from that of T. Fields are matched by name or by alias.
// Read skips fields of the file that T does not have. If the file lacks a field of T, the
// field is set to its default, or to nil if it is a pointer without a default; otherwise the
// job fails. Numbers are promoted as Avro defines: int to long, float or double; long to
// float or double; and float to double. Logical types, enums (as strings, or as integers by
// position), fixed and bytes are read into Go types that can represent them, even if the
// tags have other options: a decimal in bytes or fixed of any precision is read into a
// string. Null is read as a nil pointer, slice or map. For a field of any other type, null
// fails the job.
package avro
