package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestNamesInArchitectureExist checks that the names in back quotes in architecture.md and the
// pages in design exist: paths, packages, types, and declarations, fields and methods.
func TestNamesInArchitectureExist(t *testing.T) {
	declared := declarations(t)
	settings := map[string]bool{}
	for _, setting := range config.Settings() {
		settings[setting.Key] = true
	}
	quoted := regexp.MustCompile("`([^`\n]+)`")
	name := regexp.MustCompile(`^([A-Za-z]\w*)\.([A-Za-z]\w*)$`)
	path := regexp.MustCompile(`^[a-z][\w.-]*(/[\w.-]+)+$`)
	ending := regexp.MustCompile(`\.(go|jsonl)$`)
	for page, text := range documents(t) {
		if page != "architecture.md" && !strings.HasPrefix(page, "design/") {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(text, -1) {
			word := strings.TrimSuffix(match[1], "/...")
			if path.MatchString(word) {
				_, err := os.Stat(filepath.Join("..", word))
				assert.NoError(t, err, page)
				continue
			}
			parts := name.FindStringSubmatch(word)
			if parts == nil || settings[word] || ending.MatchString(word) {
				continue
			}
			if members, known := declared[parts[1]]; known {
				assert.True(t, members[parts[2]], "%s: %s does not exist", page, word)
			}
		}
	}
}

// declarations returns the names of the declarations of each package, by the package's name,
// and the names of the fields and methods of each type, by the type's name.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	declared := map[string]map[string]bool{}
	add := func(owner, name string) {
		if declared[owner] == nil {
			declared[owner] = map[string]bool{}
		}
		declared[owner][name] = true
	}
	files := token.NewFileSet()
	for _, path := range sources(t) {
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(file.Name.Name, d.Name.Name)
				} else {
					add(receiver(d.Recv.List[0].Type), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						for _, name := range s.Names {
							add(file.Name.Name, name.Name)
						}
					case *ast.TypeSpec:
						add(file.Name.Name, s.Name.Name)
						addMembers(s, add)
					}
				}
			}
		}
	}
	return declared
}

func addMembers(s *ast.TypeSpec, add func(owner, name string)) {
	var members *ast.FieldList
	switch kind := s.Type.(type) {
	case *ast.StructType:
		members = kind.Fields
	case *ast.InterfaceType:
		members = kind.Methods
	default:
		return
	}
	for _, member := range members.List {
		for _, name := range member.Names {
			add(s.Name.Name, name.Name)
		}
	}
}

func receiver(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
