// Package dataset computes with data sets that are larger than the memory of one
// machine, on the executors of a bobbin application. A data set has typed elements
// in partitions; operators such as [Map], [Reduce], [Join] and [Sort] make new data
// sets of others, and actions such as [Of.Collect] and [Of.Save] compute them.
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
// The driver function calls them with arguments, and actions on the result:
//
//	err := wordCount.With(session, "hdfs:///in").Save(ctx, "hdfs:///out", dataset.AsText)
//
// [Text], [CSV], [JSON] and [ArrowRecords] read files, [Slice], [Range] and [Generate]
// make elements from arguments. [Of.Save] writes text, CSV or JSON lines, with options
// such as [Compress], [Overwrite] and [Append].
//
// A plan function runs in the driver and again in each executor, which so has the
// functions that are passed to operators, with all that they capture. Executors
// check that they got the same plan as the driver.
//
// # How a job runs
//
// Operators that need no other partitions than their own, such as Map and Filter,
// are computed in one pass, element by element. Operators on keys, and Sort, need a
// shuffle: the tasks of one stage write records to files on the disks of their
// executors, divided by key, and the tasks of the next stage fetch them. Tasks stay
// within the executor's memory and use its disk for what does not fit.
//
// The files of a shuffle are kept as long as the driver function refers to the data
// set, and used by later jobs. An executor that leaves in order, such as one whose node
// is decommissioned, first moves its files and cached partitions to other executors. If
// an executor is lost, only the tasks whose output was lost run again. [Of.Cache] keeps
// the elements of a data set too, which is worth while if jobs read it several times.
//
// # Broadcast values
//
// A large value that many tasks read, such as a dictionary, is best made a
// [Broadcast] by [NewBroadcast] and passed among the plan's arguments:
//
//	words := dataset.NewBroadcast(session, dictionary)
//	known.With(session, Arguments{In: "hdfs:///in", Words: words}).Save(ctx, "hdfs:///out", dataset.AsText)
//
// The functions of the plan call [Broadcast.Value]. The driver sends each piece of
// the value about once: executors get most pieces from each other. A plain argument,
// in contrast, is sent to each executor by the driver, with each stage, and decoded
// again for each plan.
//
// # Counters
//
// A bobbin.Counter that a task of a data set adds to counts once for each task that
// counts, however often the task runs.
package dataset
