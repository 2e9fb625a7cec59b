package main

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlansAreThoseOfTheExamples compares the source text of the examples, except main and run,
// with that of plans.go.
func TestPlansAreThoseOfTheExamples(t *testing.T) {
	own := declarations(t, "plans.go")
	for _, example := range []string{"wordcount", "sort", "join", "pagerank"} {
		declared := declarations(t, "../../../examples/"+example+"/main.go")
		delete(declared, "main")
		delete(declared, "run")
		require.NotEmpty(t, declared)
		for name, text := range declared {
			require.Equal(t, text, own[name], "%s of the example %s", name, example)
		}
	}
}

// declarations returns the source text of each top-level function, type and variable of a file,
// without comments, by name.
func declarations(t *testing.T, path string) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	texts := map[string]string{}
	add := func(name *ast.Ident, node any) {
		var text strings.Builder
		require.NoError(t, printer.Fprint(&text, files, node))
		texts[name.Name] = text.String()
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			add(function.Name, function)
			continue
		}
		for _, spec := range declaration.(*ast.GenDecl).Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(spec.Name, spec)
			case *ast.ValueSpec:
				add(spec.Names[0], spec.Values[0])
			}
		}
	}
	return texts
}
