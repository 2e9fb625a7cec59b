package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// TestQueries runs the queries on the tables in testdata. These tables contain some of the
// orders, with their line items and customers, that tables.py writes at scale 0.02. DuckDB
// selected the orders, wrote the files, and computed the expected answers.
func TestQueries(t *testing.T) {
	in, err := filepath.Abs("testdata")
	require.NoError(t, err)
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		for _, test := range []struct {
			query  *dataset.Definition[string, string]
			answer []string
		}{
			{pricingSummary, []string{
				"A|F|24057.00|33608031.69|31948834.2242|33263332.191719|25.269958|35302.554296|0.049443|952",
				"N|F|394.00|483165.23|460284.0937|476655.872700|32.833333|40263.769167|0.048333|12",
				"N|O|46599.00|65462252.33|62184531.0331|64711390.516020|25.873959|36347.724781|0.049706|1801",
				"R|F|23924.00|33418393.89|31718106.6849|32964386.301972|25.976113|36284.901075|0.050912|921",
			}},
			{shippingPriority, []string{
				"43905|242735.3814|1995-02-14|0",
				"101377|151103.5750|1995-01-15|0",
				"65409|76676.9481|1995-02-17|0",
				"65153|74915.0400|1994-12-09|0",
				"3585|55907.9288|1995-02-12|0",
				"60545|44850.6135|1995-01-15|0",
				"72065|29929.1366|1995-01-31|0",
				"84737|28366.9120|1994-12-06|0",
				"87553|8983.5840|1995-01-10|0",
			}},
			{forecastRevenue, []string{
				"78423.6029",
			}},
			{largeOrders, []string{
				"Customer#000000328|328|116449|1995-08-15|405751.12|310.00",
				"Customer#000000944|944|34723|1993-04-02|389155.27|301.00",
			}},
		} {
			lines, err := test.query.With(session, in).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, test.answer, lines)
		}
		return nil
	}))
}

func TestAverage(t *testing.T) {
	require.Equal(t, "0.333333", average(100, 3))
	require.Equal(t, "0.666667", average(200, 3))
	require.Equal(t, "25.500000", average(5100, 2))
	require.Equal(t, "0.000001", average(1, 20_000), "half of a unit is rounded up")
	require.Equal(t, "0.000000", average(1, 20_001))
}
