package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
)

func TestSummaryLine(t *testing.T) {
	pairs := parseSummary("some words\nsummary: task_sets=2 tasks=32 failed_attempts=1 process_local=0 node_local=14 no_pref=16 " +
		"rack_local=1 any=1 executors=2 lost_executors=1 run=12.3s note=\"two \\\"words\\\"\" new_thing=7\n")
	require.Equal(t, []row{
		{"tasks", "32 in 2 task sets, 1 failed attempt"},
		{"locality", "14 node-local, 1 rack-local, 1 any, 16 no preference"},
		{"executors", "2, 1 lost"},
		{"run", "12.3s"},
		{"new thing", "7"},
		{"note", `two "words"`},
	}, summaryRows(pairs))
	require.Equal(t, int64(32), numbers(pairs)["tasks"])
	require.Equal(t, "12.3s", numbers(pairs)["run"])
}

func TestSummaryOfCosts(t *testing.T) {
	line := "summary: tasks=1" + driver.CostsKeyValue([]string{"waiting for executors 2.1 s", `skew in stage 7: "a" b=c`}) + " run=1.0s"
	require.Equal(t, []row{{"tasks", "1"}, {"run", "1.0s"}, {"cost most", "waiting for executors 2.1 s"}, {"", `skew in stage 7: "a" b=c`}}, summaryRows(parseSummary(line)))
	require.Empty(t, driver.CostsKeyValue(nil))
}

func TestSummaryLineWithUnexpectedContent(t *testing.T) {
	require.Nil(t, parseSummary("no such line"))
	require.Empty(t, summaryRows(nil))
	require.Equal(t, map[string]string{"a": "1"}, parseSummary("summary: words a=1 =2 more"))
	require.Equal(t, map[string]string{"a": `"open`, "b": "2"}, parseSummary(`summary: a="open b=2`))
	require.Equal(t, map[string]string{"a": "1"}, parseSummary(recoveredPrefix+"summary: a=1"))
	require.Equal(t, []row{{"tasks", "1 in 1 task set"}}, summaryRows(parseSummary("summary: task_sets=1 tasks=1")))
}

func FuzzParseSummary(f *testing.F) {
	f.Add("summary: a=1 b=\"x y\" c")
	f.Fuzz(func(_ *testing.T, text string) { summaryRows(parseSummary("summary: " + text)) })
}
