//go:build integration && spark

package formats_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/bench/spark"
)

// Spark finds the values that pyarrow wrote in Parquet files of data sets. Its jars have Avro's
// and Hadoop's readers with libraries for more codecs than Hadoop's own; zstd in SequenceFiles
// needs a native library there, too.
func TestSparkReadsSavedFiles(t *testing.T) {
	installation, err := spark.Find(t.Context())
	require.NoError(t, err)
	script, err := filepath.Abs("../../dataset/parquet/testdata/spark_files.py")
	require.NoError(t, err)
	scratch := t.TempDir()
	command := installation.Command(t.Context(), scratch, append([]string{script, scratch, "10"}, saveRows(t, 1)...)...)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)

	requireJavaReads(t, []string{filepath.Join(installation.Jars(), "*")}, []string{"zstd"}, []string{"lz4"})
}
