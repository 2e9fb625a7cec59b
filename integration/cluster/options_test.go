package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultOptionsAreTwoNodesInTwoRacks(t *testing.T) {
	options, err := Options{Dir: t.TempDir()}.withDefaults()
	require.NoError(t, err)
	require.Len(t, options.Nodes, 2)
	assert.NotEqual(t, options.Nodes[0].Host, options.Nodes[1].Host)
	assert.NotEqual(t, options.Nodes[0].Rack, options.Nodes[1].Rack)
	assert.Equal(t, 8192, options.Nodes[0].MemoryMB)
	assert.Equal(t, 8, options.Nodes[0].VCores)
	assert.Equal(t, DefaultHadoopVersion, options.HadoopVersion)
}

func TestOptionsRefuseWhatCannotWork(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"no node":         {Options{Nodes: []NodeSpec{}}, "at least one node"},
		"not loopback":    {Options{Nodes: []NodeSpec{{Host: "10.0.0.1", Rack: "/r"}}}, `"10.0.0.1" must be an IPv4 loopback address`},
		"a name":          {Options{Nodes: []NodeSpec{{Host: "node-a", Rack: "/r"}}}, `"node-a" must be an IPv4 loopback address`},
		"same host":       {Options{Nodes: []NodeSpec{{Host: "127.0.0.3", Rack: "/a"}, {Host: "127.0.0.3", Rack: "/b"}}}, "two nodes have the host 127.0.0.3"},
		"rack not a path": {Options{Nodes: []NodeSpec{{Host: "127.0.0.3", Rack: "a"}}}, `rack "a" of node 127.0.0.3`},
		"space in dir":    {Options{Dir: "/tmp/a b"}, `the character ' '`},
		"comma in dir":    {Options{Dir: "/tmp/a,b"}, `the character ','`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := test.options.withDefaults()
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestInvalidHadoopVersionsAreRefused(t *testing.T) {
	_, err := findHadoop(t.Context(), "3.4", nil)
	assert.ErrorContains(t, err, `"3.4" is no Hadoop version`)
}

func TestPropertiesFileEscapesAndSorts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "core-site.xml")
	require.NoError(t, Properties{"b": "<&>", "a": "1"}.with(Properties{"a": "2"}).write(path))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<configuration>
  <property>
    <name>a</name>
    <value>2</value>
  </property>
  <property>
    <name>b</name>
    <value>&lt;&amp;&gt;</value>
  </property>
</configuration>
`, string(content))
}

func TestLastLinesLeaveOutTheClassPath(t *testing.T) {
	assert.Equal(t, "b\nc", lastLines([]byte("a\nb\nSTARTUP_MSG:   classpath = x\nc\n"), 2))
	assert.Equal(t, "a", lastLines([]byte("a"), 5))
	assert.Empty(t, lastLines(nil, 5))
}
