package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// translation is what a row of the tables in docs/streaming.md says.
type translation struct {
	args    []string // flags and arguments of yarn-submit stream; --map, the input and the output have defaults
	want    string   // a part of the dry run as JSON
	without string   // text that the dry run as JSON does not contain; "" for none
	warning string   // a property that has no effect; "" for none
}

// translations has the rows of both tables by their first cells.
var translations = map[string]translation{
	"`-mapper CMD`, `-combiner CMD`, `-reducer CMD`": {args: []string{"--map", "awk -f x", "--combine", "uniq", "--reduce", "sh -c 'a b'"},
		want: `"map":["awk","-f","x"],"combine":["uniq"],"reduce":["sh","-c","a b"]`},
	"no `-reducer`":                        {args: []string{"--reducers", "1"}, want: `"mapreduce.job.reduces":"1"`, without: `"reduce"`},
	"`-reducer NONE`, `-numReduceTasks 0`": {want: `"map":["cat"]`, without: "reduce"},
	"`-numReduceTasks N`":                  {args: []string{"--reducers", "4", "--reduce", "cat"}, want: `"mapreduce.job.reduces":"4"`},
	"`-input PATH`, `-output DIR`":         {args: []string{"--input", "/a", "--input", "/b*", "--output", "/c"}, want: `"inputs":["/a","/b*"],"output":"/c"`},
	"`-files`, `-archives`":                {args: []string{"--files", "map.py", "--archives", "a.tgz"}, want: `"files":["map.py"],"archives":["a.tgz"]`},
	"`-file FILE`":                         {args: []string{"--map", "./map.py"}, want: `"files":["./map.py"]`},
	"`-cacheFile URI#NAME`, `-cacheArchive URI#NAME`": {args: []string{"--files", "hdfs:///f#g", "--archives", "hdfs:///a.tgz#b"},
		want: `"files":["hdfs:///f#g"],"archives":["hdfs:///a.tgz#b"]`},
	"`-cmdenv NAME=VALUE`":                                             {args: []string{"--env", "A=b c"}, want: `"environment":{"A":"b c"}`},
	"`-D NAME=VALUE`, `-jobconf NAME=VALUE`":                           {args: []string{"-D", "mapred.reduce.tasks=3"}, want: `"properties":{"mapred.reduce.tasks":"3"}`},
	"`-partitioner …KeyFieldBasedPartitioner`":                         {args: []string{"--partition", "-k1,2"}, want: `"mapreduce.partition.keypartitioner.options":"-k1,2"`},
	"`-inputformat TextInputFormat`, `-outputformat TextOutputFormat`": {want: `"map":["cat"]`},
	"`-D mapreduce.job.output.key.comparator.class=…KeyFieldBasedComparator`": {
		args: []string{"-D", "mapreduce.job.output.key.comparator.class=org.apache.hadoop.mapreduce.lib.partition.KeyFieldBasedComparator", "--sort", "-k2,2nr"},
		want: `"mapreduce.partition.keycomparator.options":"-k2,2nr"`},
	"`-lazyOutput`, `-mapdebug`, `-reducedebug`, `-background`": {args: []string{"--detach"}, want: `"yarn.submit.waitAppCompletion":{"value":"false"`},
	"`-verbose`, `-info`": {args: []string{"--verbose"}, want: `"map":["cat"]`},

	"`stream.map.output.field.separator`, `stream.num.map.output.key.fields`": {args: []string{"--separator", ",", "--key-fields", "2"},
		want: `{"mapreduce.map.output.key.field.separator":",","stream.map.output.field.separator":",","stream.num.map.output.key.fields":"2"}`},
	"`stream.reduce.input.field.separator`, `stream.reduce.output.field.separator`, `stream.num.reduce.output.key.fields`": {
		args: []string{"-D", "stream.reduce.input.field.separator=,", "-D", "stream.reduce.output.field.separator=;", "-D", "stream.num.reduce.output.key.fields=2"},
		want: `{"stream.num.reduce.output.key.fields":"2","stream.reduce.input.field.separator":",","stream.reduce.output.field.separator":";"}`},
	"`mapreduce.map.output.key.field.separator`, `mapreduce.output.textoutputformat.separator`": {
		args: []string{"-D", "mapreduce.map.output.key.field.separator=,", "-D", "mapreduce.output.textoutputformat.separator=;"},
		want: `{"mapreduce.map.output.key.field.separator":",","mapreduce.output.textoutputformat.separator":";"}`},
	"`mapreduce.partition.keypartitioner.options`, `num.key.fields.for.partition`, `mapreduce.partition.keycomparator.options`": {
		args: []string{"-D", "mapreduce.partition.keypartitioner.options=-k1,2", "-D", "num.key.fields.for.partition=2", "-D", "mapreduce.partition.keycomparator.options=-k1r"},
		want: `{"mapreduce.partition.keycomparator.options":"-k1r","mapreduce.partition.keypartitioner.options":"-k1,2","num.key.fields.for.partition":"2"}`},
	"`mapreduce.job.reduces`, `mapreduce.job.name`": {args: []string{"--reducers", "2", "--name", "counts"}, want: `{"stream":{"name":"counts",`},
	"`stream.non.zero.exit.is.failure`, `stream.stderr.reporter.prefix`": {args: []string{"-D", "stream.non.zero.exit.is.failure=false", "-D", "stream.stderr.reporter.prefix=r:"},
		want: `{"stream.non.zero.exit.is.failure":"false","stream.stderr.reporter.prefix":"r:"}`},
	"`mapreduce.input.fileinputformat.split.maxsize`":                  {args: []string{"-D", "mapreduce.input.fileinputformat.split.maxsize=1048576"}, want: `split.maxsize":"1048576"`},
	"`mapreduce.output.fileoutputformat.compress`, `….compress.codec`": {args: []string{"--compress", "gzip"}, want: `"compression":"gzip"`},
	"`mapreduce.job.queuename`":                                        {args: []string{"--queue", "night", "-D", "mapreduce.job.queuename=day"}, want: `"queue":"night"`, warning: "mapreduce.job.queuename"},
	"`mapreduce.map.memory.mb`, `mapreduce.reduce.memory.mb`": {args: []string{"--executor-memory", "3g", "-D", "mapreduce.reduce.memory.mb=512"},
		want: `"executor.memory":{"value":"3g"`, warning: "mapreduce.reduce.memory.mb"},
	"`mapreduce.map.maxattempts`, `mapreduce.reduce.maxattempts`": {args: []string{"--conf", "task.maxFailures=4", "-D", "mapreduce.map.maxattempts=5"},
		want: `"maxFailures":4`, warning: "mapreduce.map.maxattempts"},
	"`mapreduce.map.speculative`, `mapreduce.reduce.speculative`": {args: []string{"--conf", "speculation=true", "-D", "mapreduce.map.speculative=false"},
		want: `"speculation":{"value":"true"`, warning: "mapreduce.map.speculative"},
}

// noTranslation is the row with what is refused.
const noTranslation = "other formats, `-inputreader`, `-io`, Java classes, `-reducer aggregate`"

// TestTheTranslationFromHadoopStreaming checks each row of the tables in docs/streaming.md.
func TestTheTranslationFromHadoopStreaming(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "streaming.md"))
	require.NoError(t, err)
	_, tables, found := strings.Cut(string(page), "## From Hadoop Streaming")
	require.True(t, found)
	rows := regexp.MustCompile(`(?m)^\| (.+?) \| `).FindAllStringSubmatch(tables, -1)
	t.Chdir(directoryWith(t, map[string]string{"map.py": "", "a.tgz": ""}))
	seen := 0
	for _, row := range rows {
		if row[1] == "Hadoop Streaming" || row[1] == "property" || row[1] == "---" || row[1] == noTranslation {
			continue
		}
		require.Contains(t, translations, row[1], "the test lacks a row of the table")
		seen++
		translation := translations[row[1]]
		joined := " " + strings.Join(translation.args, " ")
		args := append([]string{"stream", "--dry-run", "--json"}, translation.args...)
		if !strings.Contains(joined, " --map ") {
			args = append(args, "--map", "cat")
		}
		if !strings.Contains(joined, " --output ") {
			args = append(args, "/in", "/out")
		}
		code, stdout, stderr := run(args...)
		require.Zero(t, code, "%s: %s", row[1], stderr)
		var dry dryRun
		require.NoError(t, json.Unmarshal([]byte(stdout), &dry), row[1])
		compact, err := json.Marshal(dry)
		require.NoError(t, err)
		require.Contains(t, string(compact), translation.want, row[1])
		if translation.without != "" {
			require.NotContains(t, string(compact), translation.without, row[1])
		}
		if translation.warning == "" {
			require.NotContains(t, stderr, "has no effect", row[1])
		} else {
			require.Contains(t, stderr, "the property "+translation.warning+" has no effect", row[1])
		}
	}
	require.Len(t, translations, seen, "the test has rows that the table lacks")
	for _, args := range [][]string{{"--inputreader", "x"}, {"--inputformat", "x"}, {"--io", "text"}, {"-D", "mapreduce.job.partitioner.class=my.Partitioner"}} {
		code, _, _ := run(append([]string{"stream", "--dry-run", "--map", "cat", "/in", "/out"}, args...)...)
		require.Equal(t, 2, code, "%q", args)
	}
}
