//go:build integration && spark

package formats_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/dataset/parquet"
)

// TestSparkReadsSavedFiles checks that Spark reads the values of pyarrowRows from saved Parquet
// files: from files with one row group, and from files with several. It also tests codecs of Avro files and SequenceFiles that only Spark's jars have
// libraries for. It does not test zstd in SequenceFiles, for which Spark's jars lack a native
// library.
func TestSparkReadsSavedFiles(t *testing.T) {
	installation, err := spark.Find(t.Context())
	require.NoError(t, err)
	script, err := filepath.Abs("../../dataset/parquet/testdata/spark_files.py")
	require.NoError(t, err)
	scratch := t.TempDir()
	files := append(saveRows(t, 1), saveRows(t, 300, parquet.RowGroupSize(50_000))...)
	command := installation.Command(t.Context(), scratch, append([]string{script, scratch, "10"}, files...)...)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)

	requireJavaReads(t, []string{filepath.Join(installation.Jars(), "*")}, []string{"zstd"}, []string{"lz4"})
}
