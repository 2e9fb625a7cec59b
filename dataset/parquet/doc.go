// Package parquet reads and writes Parquet files as data sets.
//
// Elements are structs. Each exported field is read from a column of the file: the column
// with the name in the field's tag, such as `parquet:"o_orderkey"`, or, without a tag, the
// column with the field's name. Upper and lower case may differ. Other columns of the file
// are not read. A field with the tag `parquet:"-"` has no column. A field with the tag
// `partition` has no column either, because its value is in the names of directories; see
// dataset.PartitionBy. The fields of an embedded struct without a tag belong to the outer
// struct.
//
// The options of a tag follow the name: `parquet:"o_comment,optional"` allows files without
// the column, and `parquet:"price,decimal(15,2)"` makes an integer field the unscaled value
// of a decimal with 15 digits, 2 of them after the point.
//
//	type in a file                          types of fields
//	BOOLEAN                                 bool
//	INT32, INT64, INT(bits, signed)         integers that hold all values of the type
//	FLOAT, DOUBLE, FLOAT16                  float64; float32, but not for DOUBLE
//	BYTE_ARRAY, STRING, ENUM, JSON, BSON    string, []byte
//	FIXED_LEN_BYTE_ARRAY, UUID              [N]byte of that length, []byte, string
//	DECIMAL                                 Decimal; integers with the option "decimal"
//	DATE                                    Date, time.Time
//	TIMESTAMP, INT96                        time.Time, in UTC
//	TIME                                    time.Duration since midnight
//	LIST, a repeated column                 slices
//	MAP                                     maps
//	other groups                            structs
//
// Null is read as nil, so only fields that are pointers, slices or maps can be null. A null
// value for any other field fails the job.
//
// # Record batches
//
// [ReadRecords] reads the same columns as Arrow arrays:
//
//	type in a file                          Arrow type
//	BOOLEAN, FLOAT, DOUBLE, FLOAT16         bool, float32, float64, float16
//	INT32, INT64, INT(bits, signed)         integers of the same size and sign
//	STRING, ENUM, JSON                      utf8
//	BYTE_ARRAY, BSON                        binary
//	FIXED_LEN_BYTE_ARRAY, UUID              fixed_size_binary
//	DECIMAL                                 decimal128 with the same digits
//	DATE                                    date32
//	TIMESTAMP                               timestamp of the same unit; in UTC if it is an instant
//	INT96                                   timestamp in microseconds, in UTC
//	TIME                                    time32 in milliseconds, or time64
//	LIST, a repeated column                 list
//	MAP                                     map; a list of structs if keys can be null
//	other groups                            struct
//
// Decimals of more than 38 digits are read as the bytes in the file. An Arrow schema in the
// file is ignored. So there are no dictionaries, extension types, durations, and large or
// fixed-size lists.
package parquet
