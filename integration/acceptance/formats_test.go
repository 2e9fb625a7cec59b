//go:build integration

package acceptance

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFormatsOnHDFS runs the program formats, which compares the records that it reads with
// those that it has written. Each row group of the Parquet files must be read by another task,
// and each task that reads files must run on a node with its block. The test is not parallel: it
// needs the whole cluster to get an executor on every node, as TestMapTasksAreNodeLocal does.
func TestFormatsOnHDFS(t *testing.T) {
	out := outputPath(t)
	done := yarnSubmit(t, "submit", "--num-executors", strconv.Itoa(2*len(shared.hadoop.Nodes())-1), "--executor-memory", "4g", "--executor-cores", "2",
		"--conf", "scheduler.maxRegisteredResourcesWaitingTime="+testTimeout.String(), "--conf", "locality.wait="+testTimeout.String(),
		"--conf", "speculation=true", "--conf", "speculation.quantile=0.5", program("formats"), out)
	require.Equal(t, 0, done.code, done.stderr)
	id := done.applicationID(t)
	printed := yarnSubmit(t, "logs", id).stdout
	for _, format := range []string{"parquet", "avro", "json", "csv", "sequence", "partitioned"} {
		assert.Contains(t, printed, format+" ")
		assert.Contains(t, listed(t, out+"/"+format), "_SUCCESS")
		assertNoTemporaryFiles(t, out+"/"+format)
	}
	var groups []int64
	for _, name := range listed(t, out+"/parquet") {
		if strings.HasPrefix(name, "part-") {
			groups = append(groups, rowsOfRowGroups(t, out+"/parquet/"+name)...)
		}
	}
	assert.GreaterOrEqual(t, len(groups), 4, "two in each file")
	assert.Contains(t, printed, fmt.Sprintln("rows of row groups", groups))
	readBy := regexp.MustCompile(`read by (\d+) tasks`).FindStringSubmatch(printed)
	require.NotNil(t, readBy, printed)
	readers, err := strconv.Atoi(readBy[1])
	require.NoError(t, err)
	// A speculative copy may run anywhere, but only if the first attempt runs.
	assert.GreaterOrEqual(t, summaryNumber(t, done, `locality .*\b(\d+) node-local`), readers)
	assert.Equal(t, slices.Sorted(slices.Values([]string{"kind=plain", "kind=with space%2Fä", "kind=__HIVE_DEFAULT_PARTITION__", "_SUCCESS"})),
		listed(t, out+"/partitioned"))
	assertNothingLeft(t, id)
}

// listed returns the sorted names of a directory's entries that are not hidden by a dot.
func listed(t *testing.T, directory string) (names []string) {
	t.Helper()
	entries, err := shared.files.List(t.Context(), directory)
	require.NoError(t, err)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name, ".") {
			names = append(names, entry.Name)
		}
	}
	slices.Sort(names)
	return names
}

// rowsOfRowGroups returns the number of rows in each row group of a Parquet file.
func rowsOfRowGroups(t *testing.T, path string) (rows []int64) {
	t.Helper()
	opened, err := shared.files.Open(t.Context(), path)
	require.NoError(t, err)
	reader, err := file.NewParquetReader(opened)
	require.NoError(t, err)
	for i := range reader.NumRowGroups() {
		rows = append(rows, reader.MetaData().RowGroup(i).NumRows())
	}
	require.NoError(t, reader.Close())
	return rows
}
