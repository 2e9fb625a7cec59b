// Package dataset computes with data sets that are larger than the memory of one machine,
// on the executors of a bobbin application. A data set has typed elements in partitions;
// operators such as [Map], [Reduce], [Join] and [Sort] make new data sets from others, and
// actions such as [Of.Collect] and [Of.Save] compute data sets.
//
// Operators are called in plan functions, which [Define] registers by name:
//
//	var wordCount = dataset.Define("word count", func(p *dataset.Plan, in string) *dataset.Of[[]byte] {
//		words := dataset.FlatMap(dataset.Text(p, in), bytes.FieldsSeq)
//		return dataset.Map(dataset.Count(words), func(word dataset.KV[[]byte, int64]) []byte {
//			return fmt.Appendf(nil, "%s\t%d", word.Key, word.Value)
//		})
//	})
//
// The driver function calls [Definition.With] to make the data set of a plan function with
// arguments, and calls actions on the result:
//
//	err := wordCount.With(session, "hdfs:///in").Save(ctx, "hdfs:///out", dataset.AsText)
//
// [Text], [CSV], [JSON], [FixedLength] and [ArrowRecords] read files, [Slice], [Range] and [Generate]
// make elements from arguments. [Of.Save] writes text, CSV or JSON lines, with options
// such as [Compress], [Overwrite] and [Append].
//
// A plan function runs in the driver and again in each executor. That is how executors get
// the functions that are passed to operators, and the variables that these capture.
// Executors check that they got the same plan as the driver.
//
// # How a job runs
//
// Operators that compute a partition from only one partition of their input, such as Map
// and Filter, run together in one pass, element by element. Operators on keys, and Sort,
// need a shuffle: the tasks of one stage write records to files on the disks of their
// executors, divided by key, and the tasks of the next stage fetch them. Tasks stay within
// the executor's memory, and write data that does not fit to its disk.
//
// The files of a shuffle are stored as long as the driver function refers to the data set,
// and later jobs read them again. If an executor is decommissioned, for example because its
// node is decommissioned, its shuffle files and cached partitions are first copied to other
// executors. If an executor is lost, only the tasks whose output was lost run again.
// [Of.Cache] also stores the elements of a data set. It is worthwhile if several jobs read
// the data set.
//
// # Broadcast values
//
// A large value that many tasks read, such as a dictionary, is best made a
// [Broadcast] by [NewBroadcast] and passed among the plan's arguments:
//
//	words := dataset.NewBroadcast(session, dictionary)
//	known.With(session, Arguments{In: "hdfs:///in", Words: words}).Save(ctx, "hdfs:///out", dataset.AsText)
//
// The functions of the plan call [Broadcast.Value]. The driver sends each piece of the
// value about once: executors get most pieces from each other. A plain argument, in
// contrast, is sent by the driver to each executor with each stage, and is decoded for each
// plan.
//
// # Counters
//
// What a task of a data set adds to a bobbin.Counter is added once, even if the task runs
// several times.
package dataset
