package jobfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

type nodeKind int

const (
	nullNode nodeKind = iota
	scalarNode
	sequenceNode
	mappingNode
)

func (k nodeKind) String() string { return [...]string{"nothing", "a value", "a list", "a mapping"}[k] }

// node is a YAML node. Aliases are replaced by copies of their anchors. The text of a scalar
// is as in the file.
type node struct {
	kind    nodeKind
	at      Position
	text    string // text of a scalar
	quoted  bool   // whether the scalar is in quotes or a block scalar
	items   []*node
	entries []entry
}

type entry struct{ key, value *node }

// get returns the value of a mapping's key, or nil if the mapping does not have the key.
func (n *node) get(key string) *node {
	for _, one := range n.entries {
		if one.key.text == key {
			return one.value
		}
	}
	return nil
}

// treeBuilder converts nodes of the YAML library to nodes of this package.
type treeBuilder struct {
	*reporter
	anchors map[string]*node
	nodes   int
}

// maxNodes is the largest number of nodes after aliases are replaced. Without a limit, a few
// lines with aliases could produce billions of nodes.
const maxNodes = 1 << 20

// parse parses a file with one YAML document. It returns nil for an empty or invalid file. It
// reports problems to r.
func parse(r *reporter, content []byte) *node {
	file, err := parseYAML(content)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) && syntax.Token != nil {
			r.report(positionOf(syntax.Token), "%s%s", syntax.Message, syntaxAdvice(syntax.Message))
		} else {
			r.report(Position{}, "%v", err)
		}
		return nil
	}
	var bodies []ast.Node
	for _, document := range file.Docs {
		if document.Body != nil && document.Body.Type() != ast.DirectiveType {
			bodies = append(bodies, document.Body)
		}
	}
	if len(bodies) == 0 {
		r.report(Position{}, "the file is empty: it needs at least steps, each with a command")
		return nil
	}
	builder := &treeBuilder{reporter: r, anchors: map[string]*node{}}
	if len(bodies) > 1 {
		r.report(builder.build(bodies[1]).at, "a second document: write one job a file, without ---")
		return nil
	}
	tree := builder.build(bodies[0])
	if builder.nodes > maxNodes {
		r.report(Position{}, "aliases repeat so much that the file has more than %d parts", maxNodes)
	}
	if len(r.problems) > 0 {
		return nil
	}
	return tree
}

// parseYAML calls the YAML library's parser, and returns an error if it panics.
func parseYAML(content []byte) (file *ast.File, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("this YAML cannot be read: %v", failed)
		}
	}()
	return parser.ParseBytes(content, 0)
}

// syntaxAdvice returns advice for a common syntax error, or "" if it has none.
func syntaxAdvice(message string) string {
	for _, known := range []struct{ part, advice string }{
		{"mapping value is not allowed", `: put text with ": " in it in quotes, or below a |`},
		{"reserved character", ": put the text in quotes"},
		{"unexpected directive", ": put the text in quotes"},
		{"found character '	'", ": indent with spaces"},
		{"value is not allowed in this context", ": is it indented as what is above it? A pattern that begins with * goes in quotes"},
	} {
		if strings.Contains(message, known.part) {
			return known.advice
		}
	}
	return ""
}

func positionOf(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{}
	}
	return Position{Line: t.Position.Line, Column: t.Position.Column}
}

func (b *treeBuilder) build(from ast.Node) *node {
	b.nodes++
	if from == nil || b.nodes > maxNodes {
		return &node{}
	}
	at := positionOf(from.GetToken())
	switch from := from.(type) {
	case *ast.AnchorNode:
		built := b.build(from.Value)
		b.anchors[from.Name.GetToken().Value] = built
		return built
	case *ast.AliasNode:
		name := from.Value.GetToken().Value
		built, ok := b.anchors[name]
		if !ok {
			b.report(at, "the alias *%s has no anchor &%[1]s above it; put a pattern that begins with * in quotes", name)
			return &node{at: at}
		}
		b.nodes += built.size()
		copied := *built
		copied.at = at
		return &copied
	case *ast.TagNode:
		built := b.build(from.Value)
		switch from.Start.Value {
		case "!!str":
			built.quoted = true
		case "!!int", "!!float", "!!bool", "!!map", "!!seq", "!!null":
		default:
			b.report(at, "unknown tag %s: leave it out", from.Start.Value)
		}
		return built
	case *ast.MappingNode:
		built := &node{kind: mappingNode, at: at}
		if len(from.Values) > 0 && !from.IsFlowStyle {
			built.at = positionOf(from.Values[0].Key.GetToken())
		}
		for _, value := range from.Values {
			b.add(built, value)
		}
		return built
	case *ast.MappingValueNode:
		built := &node{kind: mappingNode, at: positionOf(from.Key.GetToken())}
		b.add(built, from)
		return built
	case *ast.SequenceNode:
		built := &node{kind: sequenceNode, at: at}
		for _, value := range from.Values {
			built.items = append(built.items, b.build(value))
		}
		return built
	case *ast.NullNode:
		return &node{at: at}
	case *ast.LiteralNode:
		return &node{kind: scalarNode, at: at, text: from.Value.Value, quoted: true}
	case *ast.StringNode:
		kind := from.Token.Type
		return &node{kind: scalarNode, at: at, text: from.Value, quoted: kind == token.SingleQuoteType || kind == token.DoubleQuoteType}
	case ast.ScalarNode:
		return &node{kind: scalarNode, at: at, text: from.GetToken().Value}
	default:
		b.report(at, "%s cannot stand here", from.Type())
		return &node{at: at}
	}
}

// add adds an entry to a mapping. The mapping's own entries override those that a merge key
// (<<) adds.
func (b *treeBuilder) add(built *node, from *ast.MappingValueNode) {
	value := b.build(from.Value)
	if from.Key.Type() == ast.MergeKeyType {
		for _, merged := range append([]*node{value}, value.items...) {
			if merged.kind != mappingNode && (merged != value || value.kind != sequenceNode) {
				b.report(merged.at, "<< wants a mapping, such as an alias of one, got %v", merged.kind)
			}
			for _, one := range merged.entries {
				if built.get(one.key.text) == nil {
					built.entries = append(built.entries, one)
				}
			}
		}
		return
	}
	key := b.build(from.Key)
	if key.kind == mappingNode || key.kind == sequenceNode {
		b.report(key.at, "%v cannot be a key", key.kind)
		return
	}
	for i, one := range built.entries {
		if one.key.text == key.text {
			built.entries[i] = entry{key, value} // one of the two entries is from a merge key, because the parser rejects duplicates
			return
		}
	}
	built.entries = append(built.entries, entry{key, value})
}

// size returns the number of nodes in n, including n itself.
func (n *node) size() int {
	size := 1
	for _, item := range n.items {
		size += item.size()
	}
	for _, one := range n.entries {
		size += 1 + one.value.size()
	}
	return size
}
