package pools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

const example = `<?xml version="1.0"?>
<!-- a file of Spark's -->
<allocations>
  <pool name="production">
    <schedulingMode>FAIR</schedulingMode>
    <weight>2</weight>
    <minShare> 3 </minShare>
  </pool>
  <pool name="test"/>
  <pool name="teams">
    <schedulingMode>fair</schedulingMode>
    <pool name="ann"><weight>5</weight></pool>
    <pool name="ben"><schedulingMode>FIFO</schedulingMode></pool>
  </pool>
</allocations>
`

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fairscheduler.xml")
	require.NoError(t, os.WriteFile(path, []byte(example), 0o600))
	settings := func(path, mode string) *config.Config {
		c, err := config.FromMap(map[string]string{"scheduler.mode": mode, "scheduler.allocation.file": path})
		require.NoError(t, err)
		return c
	}
	pools, err := Load(settings(path, "FAIR"), "")
	require.NoError(t, err)
	require.Equal(t, []pool.Pool{
		{Name: "production", Mode: pool.FAIR, Weight: 2, MinShare: 3},
		{Name: "test", Weight: 1},
		{Name: "teams", Mode: pool.FAIR, Weight: 1, Pools: []pool.Pool{{Name: "ann", Weight: 5}, {Name: "ben", Weight: 1}}},
	}, pools)
	require.NoError(t, pool.Check(pools))
	for name, c := range map[string]*config.Config{
		"FIFO": settings(path+"x", "FIFO"), "no file": settings("", "FAIR"), "defaults": config.Default(),
	} {
		none, err := Load(c, "")
		require.NoError(t, err, name)
		require.Empty(t, none, name)
	}
	_, err = Load(settings(path+"x", "FAIR"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "scheduler.allocation.file")
	require.NoError(t, os.WriteFile(path, make([]byte, maxBytes+1), 0o600))
	_, err = Load(settings(path, "FAIR"), "")
	require.ErrorContains(t, err, "larger than 4 MiB")
}

func TestErrorsHaveLineNumbers(t *testing.T) {
	for _, test := range []struct{ content, expected string }{
		{"", "f:1: the file ends before the end of <allocations>"},
		{"<pools/>", "f:1: <pools> where <allocations> is expected"},
		{"<allocations>", "f:1: unexpected EOF"},
		{"<allocations>\n<queue/></allocations>", "f:2: <queue> where <pool> is expected"},
		{"<allocations>\nx\n</allocations>", `f:3: text "x" where an element is expected`},
		{"<allocations>\n<pool/></allocations>", `f:2: a pool without a name: write <pool name="…">`},
		{"<allocations>\n<pool id=\"a\"/></allocations>", `f:2: <pool> has an attribute id: only name is allowed`},
		{"<allocations>\n<pool name=\"a\"/>\n<pool name=\"a\"/></allocations>", `f:3: pool "a" is described on line 2 already`},
		{"<allocations><pool name=\"a\">\n<weight>0</weight></pool></allocations>", `f:2: pool "a": weight "0": want a whole number from 1 to 1048576`},
		{"<allocations><pool name=\"a\">\n<minShare>-1</minShare></pool></allocations>", `f:2: pool "a": minShare "-1": want a whole number from 0 to 1048576`},
		{"<allocations><pool name=\"a\">\n<schedulingMode>LIFO</schedulingMode></pool></allocations>", `f:2: pool "a": schedulingMode "LIFO": want FIFO or FAIR`},
		{"<allocations><pool name=\"a\">\n<wieght>1</wieght></pool></allocations>", `f:2: pool "a": <wieght> is unknown: want schedulingMode, weight, minShare or pool`},
		{"<allocations><pool name=\"a\">\n<weight>1</weight><weight>1</weight></pool></allocations>", `f:2: pool "a" has two <weight>`},
		{"<allocations><pool name=\"a\"><weight><b/></weight></pool></allocations>", `f:1: <b> in <weight>, which may only contain text`},
		{"<allocations/><allocations/>", `f:1: <allocations> after the end of <allocations>`},
		{"<allocations>" + strings.Repeat("<pool name='a'>", 1) + "</allocations>", "f:1: element <pool> closed by </allocations>"},
	} {
		_, err := Parse("f", []byte(test.content))
		require.EqualError(t, err, "pools: "+test.expected, test.content)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("<allocations><pool name='a'><weight>1</weight></pool></allocations>"))
	f.Fuzz(func(t *testing.T, content []byte) {
		pools, err := Parse("f", content)
		if err != nil {
			require.ErrorContains(t, err, "pools: f:")
			return
		}
		require.NoError(t, pool.Check(pools))
	})
}
