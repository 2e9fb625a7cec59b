package streaming

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
)

// Hadoop's names of the properties that change how a job runs. The properties whose constants
// are exported are also set by flags of yarn-submit stream.
const (
	PropertyName            = "mapreduce.job.name"
	PropertyReducers        = "mapreduce.job.reduces"
	PropertySeparator       = "stream.map.output.field.separator"
	PropertyKeyFields       = "stream.num.map.output.key.fields"
	propertyReduceInput     = "stream.reduce.input.field.separator"
	propertyReduceSeparator = "stream.reduce.output.field.separator"
	propertyReduceKeyFields = "stream.num.reduce.output.key.fields"
	PropertyKeySeparator    = "mapreduce.map.output.key.field.separator"
	PropertyPartition       = "mapreduce.partition.keypartitioner.options"
	propertyPartitionFields = "num.key.fields.for.partition"
	PropertySort            = "mapreduce.partition.keycomparator.options"
	propertyOutputSeparator = "mapreduce.output.textoutputformat.separator"
	propertyExit            = "stream.non.zero.exit.is.failure"
	propertyReporter        = "stream.stderr.reporter.prefix"
	propertySplitSize       = "mapreduce.input.fileinputformat.split.maxsize"
	propertyCompress        = "mapreduce.output.fileoutputformat.compress"
	propertyCodec           = "mapreduce.output.fileoutputformat.compress.codec"
	propertyComparatorClass = "mapreduce.job.output.key.comparator.class"
	propertyPartitioner     = "mapreduce.job.partitioner.class"
)

// deprecated maps the Hadoop 1 names of properties to their current names.
// DeprecatedProperties.md of hadoop-common lists them.
var deprecated = map[string]string{
	"mapred.job.name":                     PropertyName,
	"mapred.reduce.tasks":                 PropertyReducers,
	"map.output.key.field.separator":      PropertyKeySeparator,
	"mapred.text.key.partitioner.options": PropertyPartition,
	"mapred.text.key.comparator.options":  PropertySort,
	"mapred.textoutputformat.separator":   propertyOutputSeparator,
	"mapred.max.split.size":               propertySplitSize,
	"mapred.output.compress":              propertyCompress,
	"mapred.output.compression.codec":     propertyCodec,
	"mapred.output.key.comparator.class":  propertyComparatorClass,
	"mapred.partitioner.class":            propertyPartitioner,
}

// options are the parsed properties of a job.
type options struct {
	Reducers         int
	Map, Reduce      fields // how printed lines are divided: Map applies to the map command, Reduce to the combine and reduce commands
	ReduceInput      string // separator of key and value in the lines that combine and reduce commands read
	Output           string // separator of key and value in saved lines
	SortKeys         keyOptions
	PartitionKeys    keyOptions
	IgnoreExitStatus bool   // whether a task succeeds if its command exits with a status other than 0
	Reporter         string // prefix of lines on stderr that set a counter or the status
	SplitSize        int64  // approximate size of a split in bytes; 0 means package dataset's default
	Compression      string
}

// SeparateKeys sets PropertyKeySeparator to separator, unless the property is set already or
// separator is "". Hadoop has one property for the separator of fields in lines and another
// one for the separator of fields in keys; SeparateKeys lets a flag set both.
func (j *Job) SeparateKeys(separator string) {
	if separator != "" && j.property(PropertyKeySeparator) == "" {
		j.Properties[PropertyKeySeparator] = separator
	}
}

// property returns the value of a property, or "" if it is not set. It also finds a
// property that is set under its Hadoop 1 name.
func (j *Job) property(name string) string {
	if value, set := j.Properties[name]; set {
		return value
	}
	for old, present := range deprecated {
		if value, set := j.Properties[old]; set && present == name {
			return value
		}
	}
	return ""
}

// options parses the job's properties. It fails if a property has an invalid value.
func (j *Job) options() (o options, err error) {
	text := func(name, unset string) string { return cmp.Or(j.property(name), unset) }
	number := func(name string, unset, least int64) int64 {
		value := j.property(name)
		if value == "" {
			return unset
		}
		n, failed := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err == nil && (failed != nil || n < least || n > math.MaxInt32 && name != propertySplitSize) {
			err = fmt.Errorf("%s is %q: want a whole number from %d", name, value, least)
		}
		return n
	}
	flag := func(name string, unset bool) bool {
		value := strings.TrimSpace(j.property(name))
		if value == "" {
			return unset
		}
		if err == nil && !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			err = fmt.Errorf("%s is %q: want true or false", name, value)
		}
		return strings.EqualFold(value, "true")
	}
	reducers := int64(0)
	if len(j.Reduce)+len(j.Combine) > 0 {
		reducers = 1
	}
	o = options{
		Reducers:         int(number(PropertyReducers, reducers, 0)),
		Map:              fields{text(PropertySeparator, "\t"), int(number(PropertyKeyFields, 1, 1))},
		Reduce:           fields{text(propertyReduceSeparator, "\t"), int(number(propertyReduceKeyFields, 1, 1))},
		ReduceInput:      text(propertyReduceInput, "\t"),
		Output:           text(propertyOutputSeparator, "\t"),
		IgnoreExitStatus: !flag(propertyExit, true),
		Reporter:         text(propertyReporter, "reporter:"),
		SplitSize:        number(propertySplitSize, 0, 1),
	}
	keySeparator := text(PropertyKeySeparator, "\t")
	for _, keys := range []struct {
		to   *keyOptions
		name string
	}{{&o.SortKeys, PropertySort}, {&o.PartitionKeys, PropertyPartition}} {
		parsed, failed := parseKeyOptions(j.property(keys.name), keySeparator)
		if err == nil && failed != nil {
			err = fmt.Errorf("%s: %w", keys.name, failed)
		}
		*keys.to = parsed
	}
	if n := number(propertyPartitionFields, 0, 1); n > 0 {
		o.PartitionKeys = keyOptions{Separator: keySeparator, Keys: []keySpec{{Begin: 1, BeginChar: 1, End: int(n)}}}
	}
	if flag(propertyCompress, false) {
		codec := text(propertyCodec, "org.apache.hadoop.io.compress.DefaultCodec")
		name := codec[strings.LastIndexByte(codec, '.')+1:]
		found, unknown := compression.ByClass("org.apache.hadoop.io.compress." + name)
		o.Compression = found.Name
		if err == nil && unknown != nil {
			err = fmt.Errorf("%s is %s: want the class of one of %s", propertyCodec, codec, strings.Join(compression.Names(), ", "))
		}
	}
	for name, class := range map[string]string{propertyComparatorClass: "KeyFieldBasedComparator", propertyPartitioner: "KeyFieldBasedPartitioner"} {
		value := j.property(name)
		if own := value[strings.LastIndexByte(value, '.')+1:]; err == nil && value != "" && own != class && own != "HashPartitioner" {
			err = fmt.Errorf("%s is %s: Java classes do not run here, but %s is built in", name, value, class)
		}
	}
	return o, err
}

// Ignored returns the sorted names of the Hadoop properties in j that bobbin ignores, except
// that commands find them in their environment.
func (j *Job) Ignored() (names []string) {
	known := []string{
		PropertyName, PropertyReducers, PropertySeparator, PropertyKeyFields, propertyReduceInput, propertyReduceSeparator,
		propertyReduceKeyFields, PropertyKeySeparator, PropertyPartition, propertyPartitionFields, PropertySort, propertyOutputSeparator,
		propertyExit, propertyReporter, propertySplitSize, propertyCompress, propertyCodec, propertyComparatorClass, propertyPartitioner,
	}
	for name := range j.Properties {
		hadoops := slices.ContainsFunc([]string{"mapreduce.", "mapred.", "yarn.", "stream."}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if hadoops && !slices.Contains(known, name) && deprecated[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
