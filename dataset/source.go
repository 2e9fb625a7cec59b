package dataset

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/fileformat"
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/storage"
)

// source describes which files an operator reads, and how.
type source struct {
	paths []string // paths of files and directories, or patterns
	partitionPruning
	splitSize      int64 // bytes; 0 means defaultSplitSize
	whole          bool  // files are not split: each is one split
	csv            csvOptions
	malformed      Handling
	checkpoint     bool // the files are those of a checkpoint
	separateSplits bool // each split is a partition of its own
}

// ReadOption is an option of a source.
type ReadOption func(*source)

// SplitSize sets the approximate number of bytes of files in each partition. The default is
// 32 MiB. A file that cannot be split is in one partition, however large it is.
func SplitSize(bytes int64) ReadOption { return func(s *source) { s.splitSize = bytes } }

// MorePaths makes a source read more files and directories, in this order, after those of
// its own path. Each path may be a pattern.
func MorePaths(paths ...string) ReadOption {
	return func(s *source) { s.paths = append(s.paths, paths...) }
}

// newSource returns a node that reads files, for elements of type T.
func newSource[T any](p *Plan, operator, path string, options []ReadOption) *node {
	n := &node{operator: operator, source: &source{paths: []string{path}}}
	for _, option := range options {
		option(n.source)
	}
	if operator != "CSV" && operator != "JSON" && n.source.malformed != Fail {
		p.reject(operator, errors.New("OnMalformed is an option of JSON and CSV"))
	}
	if operator != "CSV" && n.source.csv != (csvOptions{}) {
		p.reject(operator, errors.New("Header, Delimiter and LineRecords are options of CSV"))
	}
	var err error
	n.source.fields, err = partitionFieldsOf(reflect.TypeFor[T]())
	p.reject(operator, err)
	n.arguments = fmt.Sprintf("%q by %d bytes, %v, malformed %d", n.source.paths, n.source.splitSize, n.source.csv, n.source.malformed)
	for _, f := range n.source.filters {
		n.arguments += fmt.Sprintf(", some of %q", f.column)
	}
	if n.source.separateSplits {
		n.arguments += ", each split a partition"
	}
	n.partitions = func(l *layout) int { return l.Sources[n.ref()] }
	return n
}

// advice says how to read files that are not text.
var advice = map[fileformat.Format]string{
	fileformat.Avro:    "read it with package dataset/avro",
	fileformat.Parquet: "read it with package dataset/parquet",
	fileformat.ORC:     fileformat.ORCAdvice + ", and read that with package dataset/parquet",
}

// checkName returns an error if the name of a file shows that it is not text.
func checkName(split storage.Split) error {
	return checkFormat(split, fileformat.OfName(split.Path))
}

// checkContent returns an error if the content of an uncompressed file shows that it is not
// text. begin has the first bytes of the split. Only the first split of a file is checked.
func (x *taskContext) checkContent(split storage.Split, begin []byte) error {
	if split.Offset > 0 || split.Compression != "" || !fileformat.MayBegin(begin) {
		return nil
	}
	file, err := storage.From(x.task).Open(x.task, split.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	format, err := fileformat.Of(file, file.Stat().Size)
	if err != nil {
		return err
	}
	return checkFormat(split, format)
}

func checkFormat(split storage.Split, format fileformat.Format) error {
	if format == fileformat.Unknown {
		return nil
	}
	return permanentError{fmt.Errorf("%s has no lines: %s", split.Path, advice[format])}
}

// eachLine calls visit with each line of a split and the line's number in the split, from
// 1. It stops and returns false if visit returns false, or after an error.
func (x *taskContext) eachLine(split storage.Split, visit func(number int64, line []byte) bool) bool {
	if err := checkName(split); err != nil {
		return x.fail(err)
	}
	number := int64(0)
	for line, err := range split.LinesUpTo(x.task, int(x.service.TaskMemory())) {
		if err == nil && number == 0 {
			err = x.checkContent(split, line)
		}
		if err != nil {
			return x.fail(err)
		}
		x.measured.RecordsIn++
		number++
		if !visit(number, line) {
			return false
		}
	}
	return true
}

// lineError adds the file and the line to err, and returns it as an error with which the
// task is not retried.
func lineError(split storage.Split, number int64, err error) error {
	place := fmt.Sprintf("line %d", number)
	if split.Offset > 0 {
		place = fmt.Sprintf("line %d of those that begin after byte %d", number, split.Offset)
	}
	return permanentError{fmt.Errorf("%s: %s: %w", split.Path, place, err)}
}

// Text returns the lines, without their line ends, of the files that path names. path is a file,
// a directory, whose whole tree is read, or a pattern, as storage.Files.Glob describes it;
// [MorePaths] adds more paths. storage.Files.Splits documents which files are skipped, and
// storage.Split.Lines defines lines. The job fails if a line is larger than the memory that
// a task may use. Compressed files are decompressed; see storage.Compress.
//
// If directories are named column=value, the option [Partition] selects some of them.
// Sources whose elements are structs can set fields to such a value; see [PartitionBy].
func Text(p *Plan, path string, options ...ReadOption) *Of[[]byte] {
	n := newSource[[]byte](p, "Text", path, options)
	return newOf(p, n, func(x *taskContext, partition int, emit func([]byte) bool) {
		eachSplit(x, n, partition, emit, func(split storage.Split, emit func([]byte) bool) bool {
			return x.eachLine(split, func(_ int64, line []byte) bool { return emit(line) })
		})
	})
}

// JSON returns the JSON values in the lines of files, as encoding/json decodes them
// into T. It skips empty lines. [OnMalformed] sets what happens to lines that it cannot
// decode. [Text] describes how path selects files.
func JSON[T any](p *Plan, path string, options ...ReadOption) *Of[T] {
	return newRecords(p, newSource[T](p, "JSON", path, options), func(x *taskContext, split storage.Split, emit func(T) bool, reject malformedFunc) bool {
		return x.eachLine(split, func(number int64, line []byte) bool {
			if len(bytes.TrimSpace(line)) == 0 {
				return true
			}
			var element T
			if err := json.Unmarshal(line, &element); err != nil {
				return reject(number, string(line), fmt.Errorf("%w in %.80q", err, line))
			}
			return emit(element)
		})
	})
}

// partitions returns the splits of each partition of the source. Small files share
// partitions.
func (s *source) partitions(ctx context.Context, files *storage.Files) ([][]storage.Split, error) {
	if s.checkpoint {
		partitions, _, err := openCheckpoint(ctx, files, s.paths[0])
		return partitions, err
	}
	size := cmp.Or(s.splitSize, defaultSplitSize)
	options := storage.SplitOptions{Size: size, Enter: s.shouldList}
	if s.whole {
		options.Size = math.MaxInt64
	}
	var splits []storage.Split
	for _, path := range s.paths {
		found, err := files.Splits(ctx, path, options)
		if err != nil {
			return nil, err
		}
		splits = append(splits, found...)
	}
	splits, err := s.prune(splits)
	if err != nil {
		return nil, err
	}
	if s.separateSplits {
		size = 0
	}
	return packSplits(splits, size), nil
}

const (
	defaultSplitSize = 32 << 20
	// openCost is about how many bytes can be read in the time that opening a file takes.
	// It is lower than Spark's spark.sql.files.openCostInBytes, 4 MB, because files are
	// opened faster here.
	openCost = 1 << 20
)

// hostsOf returns up to maxHosts hosts that store splits, those with the most bytes first.
func hostsOf(splits []storage.Split) []string {
	bytes := map[string]int64{}
	var hosts []string
	for _, split := range splits {
		for _, host := range split.Hosts {
			if bytes[host] == 0 {
				hosts = append(hosts, host)
			}
			bytes[host] += split.Length + 1
		}
	}
	slices.SortStableFunc(hosts, func(a, b string) int { return cmp.Compare(bytes[b], bytes[a]) })
	return hosts[:min(len(hosts), maxHosts)]
}

// maxHosts is the largest number of hosts that a task prefers.
const maxHosts = 5

// Slice returns the elements of a slice, in the given number of partitions. Pass
// the slice among the plan's arguments; large data should be read from files.
func Slice[T any](p *Plan, elements []T, partitions int) *Of[T] {
	slice := Generate(p, partitions, func(partition int, yield func(T) bool) {
		for _, element := range elements[partition*len(elements)/partitions : (partition+1)*len(elements)/partitions] {
			if !yield(element) {
				return
			}
		}
	})
	slice.node.arguments += fmt.Sprintf(", %d elements with the hash %x", len(elements), hashOf(elements))
	return slice
}

// hashOf returns a hash of the encoded elements. It returns 0 if elements cannot be
// encoded, or if equal elements can have different encodings.
func hashOf[T any](elements []T) uint64 {
	values, err := record.CodecFor[T]()
	if err != nil || containsMap(reflect.TypeFor[T](), map[reflect.Type]bool{}) {
		return 0
	}
	var encoded []byte
	for _, element := range elements {
		if encoded, err = values.Append(encoded, element); err != nil {
			return 0 // tasks report the error
		}
	}
	return record.Hash(encoded)
}

// Range returns the numbers from first (inclusive) to end (exclusive), in the given number
// of partitions.
func Range(p *Plan, first, end int64, partitions int) *Of[int64] {
	numbers := Generate(p, partitions, func(partition int, yield func(int64) bool) {
		size := max(end-first, 0)
		from, to := first+size/int64(partitions)*int64(partition), first+size/int64(partitions)*int64(partition+1)
		if partition == partitions-1 {
			to = first + size
		}
		for i := from; i < to && yield(i); i++ {
		}
	})
	numbers.node.arguments += fmt.Sprintf(", %d to %d", first, end)
	return numbers
}

// Generate returns the elements that f yields for each partition. Partitions are numbered
// from 0.
func Generate[T any](p *Plan, partitions int, f func(partition int, yield func(T) bool)) *Of[T] {
	if partitions < 1 {
		p.reject("the source", errNoPartitions)
		partitions = 1
	}
	n := &node{operator: "Generate", arguments: fmt.Sprintf("%d partitions", partitions), partitions: func(*layout) int { return partitions }}
	return newOf(p, n, func(x *taskContext, partition int, emit func(T) bool) {
		count := 0
		f(partition, func(element T) bool {
			if count++; count%checkInterval == 0 && x.task.Err() != nil {
				return x.fail(context.Cause(x.task))
			}
			return emit(element)
		})
	})
}

// checkInterval is the number of generated elements after which a task checks whether it
// was killed. Tasks that read files or shuffles check it when they read.
const checkInterval = 1024
