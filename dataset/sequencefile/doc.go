// Package sequencefile reads and writes Hadoop's SequenceFiles as data sets of pairs.
//
//	pairs := sequencefile.Read[string, int64](p, "hdfs:///counts") // in a plan function
//	err := counts.Save(ctx, "hdfs:///out", sequencefile.Format, dataset.Compress("zstd"))
//
// These are the Go types for Hadoop's classes of keys and values:
//
//	class            read into                   written for
//	Text             string, []byte              string
//	BytesWritable    []byte, string              []byte
//	IntWritable      int32, int64, int           int32
//	LongWritable     int64, int                  int64, int
//	FloatWritable    float32, float64            float32
//	DoubleWritable   float64                     float64
//	BooleanWritable  bool                        bool
//	NullWritable     struct{}                    struct{}
//
// Only Java code can read values of other classes; for files with other classes, Read
// fails.
package sequencefile
