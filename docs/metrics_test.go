package docs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/standalone/master"
	"github.com/bobbin-yarn/bobbin/standalone/worker"
)

func TestMetricsHaveTheirTables(t *testing.T) {
	documented := documents(t)["metrics.md"]
	for of, families := range map[string][]*metrics.Family{
		"an application": driver.MetricTable.Families(), "its containers": page.MetricTable.Families(),
		"a master": master.MetricTable.Families(), "a worker": worker.MetricTable.Families(),
		"a process": metrics.ProcessFamilies,
	} {
		table := "| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n"
		for _, f := range families {
			table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.Name, f.Type, strings.Join(f.Labels, ", "), f.Help)
		}
		set := &metrics.Set{}
		for _, f := range families {
			set.Add(f, 1, f.Labels...)
		}
		problems, err := promlint.New(bytes.NewReader(set.Bytes())).Lint()
		require.NoError(t, err)
		assert.Empty(t, problems)
		assert.True(t, strings.Contains(documented, table), "docs/metrics.md: the table of the metrics of %s must be:\n%s", of, table)
	}
}
