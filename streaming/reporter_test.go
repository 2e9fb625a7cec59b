package streaming

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReporterCountsAndLogs(t *testing.T) {
	text := "reporter:counter:words,all,3\n" +
		"plain\n" +
		"reporter:counter:words,all,-1\n" +
		"reporter:counter:words,all\n" +
		"reporter:counter:words,all,x\n" +
		"reporter:counter:a\xff,b,1\n" +
		"reporter:counter:" + strings.Repeat("x", 100) + ",b,1\n" +
		"reporter:status: half done \n" +
		"reporter:other\n" +
		"reporter:counter:group name,line name, 1\n" +
		"reporter:counter:last,line,5"
	for size := range 5 { // write in pieces of several sizes
		counters := map[string]int64{}
		var log bytes.Buffer
		r := &reporter{prefix: "reporter:", log: &log, count: func(name string, n int64) { counters[name] += n }}
		for rest := []byte(text); len(rest) > 0; {
			piece := rest[:min(len(rest), 1+size*size*7)]
			rest = rest[len(piece):]
			n, err := r.Write(bytes.Clone(piece))
			require.NoError(t, err)
			require.Equal(t, len(piece), n)
		}
		require.NoError(t, r.flush())
		require.NoError(t, r.err)
		require.Equal(t, map[string]int64{"words/all": 2, "last/line": 5}, counters)
		require.Equal(t, "plain\nreporter:counter:words,all\nreporter:counter:words,all,x\nreporter:counter:a\xff,b,1\nreporter:counter:"+
			strings.Repeat("x", 100)+",b,1\nstatus: half done\nreporter:other\nreporter:counter:group name,line name, 1\n", log.String())
		require.Equal(t, strings.TrimSpace(log.String()), r.tail.String())
	}
}

func TestReporterLimitsCounters(t *testing.T) {
	r := &reporter{prefix: "r:", log: &bytes.Buffer{}, count: func(string, int64) {}}
	for i := range maxCounters {
		_, _ = fmt.Fprintf(r, "r:counter:g,%d,1\n", i)
	}
	require.NoError(t, r.err)
	_, _ = fmt.Fprint(r, "r:counter:g,more,1\n")
	require.ErrorContains(t, r.err, "a command reports more than 120 counters")
}

func TestReporterPassesOnLongLines(t *testing.T) {
	var log bytes.Buffer
	r := &reporter{prefix: "r:", log: &log}
	long := strings.Repeat("x", 3*maxReport) + "\n"
	_, err := r.Write([]byte(long[:2*maxReport]))
	require.NoError(t, err)
	require.Equal(t, 2*maxReport, log.Len(), "memory is bounded")
	_, err = r.Write([]byte(long[2*maxReport:]))
	require.NoError(t, err)
	require.Equal(t, long, log.String())
}
