package streaming

import (
	"encoding/binary"
	"iter"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// arguments are the arguments of the plan that runs a job.
type arguments struct {
	Job         Job
	Options     options
	Step        StepInfo
	Application string // id of the application
}

// pair is a record of the shuffle. The shuffle sorts by Key, which is the key of a line. If
// the job's properties specify how keys are sorted, Key is an encoding of the line's key
// instead; see [arguments.pairs].
type pair = dataset.KV[[]byte, []byte]

var plan = dataset.Define("bobbin/streaming", describe)

// describe returns the data set of the lines that a job saves.
func describe(p *dataset.Plan, a arguments) *dataset.Of[[]byte] {
	if a.Options.Reducers == 0 {
		return readInputs(p, &a, func(split *dataset.FileSplit, emit func([]byte) bool) error {
			output := a.outputLines(a.Options.Map, emit)
			return a.runMap(split, output)
		})
	}
	pairs := readInputs(p, &a, func(split *dataset.FileSplit, emit func(pair) bool) error {
		return a.runMap(split, a.pairs(a.Options.Map, emit))
	})
	if len(a.Job.Combine) > 0 {
		pairs = dataset.MapPartitions(dataset.SortWithinPartitions(pairs), a.combine)
	}
	sorted := dataset.RepartitionAndSortWithinPartitions(pairs, a.Options.Reducers, func(element pair) int {
		key, _ := a.keyAndValue(element)
		return a.Options.PartitionKeys.partition(key, a.Options.Reducers)
	})
	return dataset.MapPartitions(sorted, a.reduce)
}

// readInputs returns the data set of the values that read emits for all splits of all inputs.
// It calls read for each split.
func readInputs[T any](p *dataset.Plan, a *arguments, read func(split *dataset.FileSplit, emit func(T) bool) error) *dataset.Of[T] {
	options := []dataset.ReadOption{dataset.SeparateSplits()}
	if a.Options.SplitSize > 0 {
		options = append(options, dataset.SplitSize(a.Options.SplitSize))
	}
	var sources []*dataset.Of[T]
	for _, input := range a.Job.Inputs {
		sources = append(sources, dataset.Files(p, "Map", input, read, options...))
	}
	if len(sources) == 1 {
		return sources[0]
	}
	return dataset.Union(sources[0], sources[1:]...)
}

// runMap runs the map command with the lines of a split as input, and calls emit for each line
// that the command prints.
func (a *arguments) runMap(split *dataset.FileSplit, emit func(line []byte) bool) error {
	t := &streamTask{job: a, task: split.Task, kind: mapKind, command: a.Job.Map}
	command, err := t.start(&split.Split, emit)
	if err != nil {
		return err
	}
	defer command.close()
	for line, err := range split.Split.LinesUpTo(split.Task, int(split.Memory)) {
		if err != nil {
			return err
		}
		if !command.Write(line) {
			break
		}
	}
	return command.finish()
}

// combine runs the combine command with sorted pairs as input. It divides the lines that the
// command prints into keys and values, and returns these pairs.
func (a *arguments) combine(task *bobbin.Task, elements iter.Seq[pair]) iter.Seq2[pair, error] {
	return pipeThrough(&streamTask{job: a, task: task, kind: combineKind, command: a.Job.Combine}, elements, func(emit func(pair) bool) func([]byte) bool {
		return a.pairs(a.Options.Reduce, emit)
	})
}

// reduce runs the reduce command with sorted pairs as input, and returns the lines that the
// command prints. If the job has no reduce command, it returns the pairs as lines.
func (a *arguments) reduce(task *bobbin.Task, elements iter.Seq[pair]) iter.Seq2[[]byte, error] {
	if len(a.Job.Reduce) == 0 {
		return func(yield func([]byte, error) bool) {
			var line []byte
			for element := range elements {
				key, value := a.keyAndValue(element)
				line = append(line[:0], key...)
				if len(value) > 0 {
					line = append(append(line, a.Options.Output...), value...)
				}
				if !yield(line, nil) {
					return
				}
			}
		}
	}
	return pipeThrough(&streamTask{job: a, task: task, kind: reduceKind, command: a.Job.Reduce}, elements, func(emit func([]byte) bool) func([]byte) bool {
		return a.outputLines(a.Options.Reduce, emit)
	})
}

// pipeThrough runs the command of t with pairs as input lines, and returns the values that are
// made from the lines that the command prints. The argument lines makes them: it must return a
// function that gets each printed line and calls emit with the line's values. If there are no
// pairs, the command is not started.
func pipeThrough[T any](t *streamTask, elements iter.Seq[pair], lines func(emit func(T) bool) func(line []byte) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var command *runningCommand
		var err error
		var line []byte
		for element := range elements {
			if command == nil {
				if command, err = t.start(nil, lines(func(element T) bool { return yield(element, nil) })); err != nil {
					break
				}
				defer command.close()
			}
			key, value := t.job.keyAndValue(element)
			line = append(append(append(line[:0], key...), t.job.Options.ReduceInput...), value...)
			if !command.Write(line) {
				break
			}
		}
		if command != nil {
			err = command.finish()
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// pairs returns a function that divides a line into key and value according to f, and calls
// emit with the line's pair.
func (a *arguments) pairs(f fields, emit func(pair) bool) func(line []byte) bool {
	if len(a.Options.SortKeys.Keys) == 0 {
		return func(line []byte) bool {
			key, value, _ := f.split(line)
			return emit(pair{Key: key, Value: value})
		}
	}
	// The pair's Key is used only for sorting. The pair's Value contains both the line's key
	// and the line's value.
	var order, both []byte
	return func(line []byte) bool {
		key, value, _ := f.split(line)
		order = a.Options.SortKeys.appendSortKey(order[:0], key)
		both = appendKeyValue(both[:0], key, value)
		return emit(pair{Key: order, Value: both})
	}
}

// keyAndValue returns the key and the value of the line from which p was made (see pairs).
func (a *arguments) keyAndValue(p pair) (key, value []byte) {
	if len(a.Options.SortKeys.Keys) == 0 {
		return p.Key, p.Value
	}
	return cutKeyValue(p.Value)
}

// outputLines returns a function that calls emit with a line to save. f determines the
// position of the separator between the line's key and value. The function replaces the
// separator by the separator of saved lines.
func (a *arguments) outputLines(f fields, emit func([]byte) bool) func(line []byte) bool {
	if f.Separator == a.Options.Output {
		return emit
	}
	var changed []byte
	return func(line []byte) bool {
		key, value, separated := f.split(line)
		if !separated {
			return emit(line)
		}
		changed = append(append(append(changed[:0], key...), a.Options.Output...), value...)
		return emit(changed)
	}
}

// appendKeyValue appends a key and a value in the form that cutKeyValue decodes.
func appendKeyValue(b, key, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(key)))
	return append(append(b, key...), value...)
}

// cutKeyValue returns the key and the value that appendKeyValue encoded.
func cutKeyValue(b []byte) (key, value []byte) {
	size, n := binary.Uvarint(b)
	end := n + int(size)
	return b[n:end], b[end:]
}
