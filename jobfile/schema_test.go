package jobfile

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	content, err := os.ReadFile("job.schema.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("job.schema.json", document))
	schema, err := compiler.Compile("job.schema.json")
	require.NoError(t, err)
	return schema
}

func TestSchemaFileIsUpToDate(t *testing.T) {
	want, err := Schema()
	require.NoError(t, err)
	got, err := os.ReadFile("job.schema.json")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "write it anew: go generate ./jobfile")
}

// TestSchemaAgreesWithRead checks that the schema, applied as an editor applies it, and Read
// accept the same files.
func TestSchemaAgreesWithRead(t *testing.T) {
	schema := compiled(t)
	for content, right := range map[string]bool{
		"steps: {a: {command: [x, 3.10, true]}}":                                                     true,
		"steps: {a: {command: make test}}":                                                           true,
		"x-any: {thing: 1}\nsteps: {a: {command: [x]}}":                                              true,
		"steps: {a: {command: [x], tasks: 3}}":                                                       true,
		"steps: {a: {command: [x], tasks: [p, 1]}}":                                                  true,
		"steps: {a: {command: [x], tasks: {matrix: {v: [3.10, 3.11]}, include: [{v: 4}]}}}":          true,
		"environment: {A: 1, B: true, C: x}\nsteps: {a: {command: [x]}}":                             true,
		"timeout: 1h30m\ntask_timeout: 5m\nsteps: {a: {command: [x], timeout: 100ms}}":               true,
		"resources: {driver: {memory: 2g}, executors: {memory: 512 MB}}\nsteps: {a: {command: [x]}}": true,
		"steps: {a: {command: [x], collect: {'*': out}, allow_failure: true}}":                       true,
		"steps: {a: {stream: {input: [/in], output: /out, map: cat, reduce: [uniq, -c], reducers: 2, key_fields: 1, properties: {a.b: 1}}, needs: []}}": true,
		"steps: {a: {stream: {input: [/in], output: /out, map: cat}, timeout: 1h, allow_failure: true, environment: {A: 1}}}":                           true,

		"steps: {a: {stream: {input: [/in], output: /out}}}":                                false,
		"steps: {a: {stream: {input: /in, output: /out, map: cat}}}":                        false,
		"steps: {a: {stream: {input: [/in], output: /out, map: cat, key_fields: 0}}}":       false,
		"steps: {a: {stream: {input: [/in], output: /out, map: cat}, command: [x]}}":        false,
		"steps: {a: {stream: {input: [/in], output: /out, map: cat}, tasks: 2}}":            false,
		"steps: {a: {stream: {input: [/in], output: /out, map: cat}, collect: {'*': out}}}": false,
		"{}":                                                             false,
		"steps: {}":                                                      false,
		"steps: [{command: [x]}]":                                        false,
		"steps: {a: {}}":                                                 false,
		"steps: {a: {command: []}}":                                      false,
		"steps: {a: {command: ''}}":                                      false,
		"steps: {'a b': {command: [x]}}":                                 false,
		"stepz: {}\nsteps: {a: {command: [x]}}":                          false,
		"steps: {a: {command: [x], script: y}}":                          false,
		"steps: {a: {command: [x], tasks: 0}}":                           false,
		"steps: {a: {command: [x], tasks: []}}":                          false,
		"steps: {a: {command: [x], tasks: {matrix: {v: []}}}}":           false,
		"steps: {a: {command: [x], tasks: {lists: x}}}":                  false,
		"steps: {a: {command: [x], cpus: 0}}":                            false,
		"steps: {a: {command: [x], retries: -1}}":                        false,
		"steps: {a: {command: [x], allow_failure: maybe}}":               false,
		"steps: {a: {command: [x], needs: b}}":                           false,
		"timeout: 30\nsteps: {a: {command: [x]}}":                        false,
		"timeout: soon\nsteps: {a: {command: [x]}}":                      false,
		"resources: {driver: {memory: 512}}\nsteps: {a: {command: [x]}}": false,
		"environment: {'A B': 1}\nsteps: {a: {command: [x]}}":            false,
	} {
		t.Run(content, func(t *testing.T) {
			var document any
			require.NoError(t, yaml.Unmarshal([]byte(content), &document))
			_, err := readJob(t, content)
			require.Equal(t, right, err == nil, "the reader: %v", err)
			err = schema.Validate(document)
			require.Equal(t, right, err == nil, "the schema: %v", err)
		})
	}
}
