package conf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// These limits are far above the sizes of real configurations. They stop the parser if files
// include each other, or if a file is no configuration.
const (
	maxFileBytes    = 8 << 20
	maxTotalBytes   = 32 << 20
	maxFiles        = 1000
	maxIncludeDepth = 32
	maxElementDepth = 64
)

// reader returns a file's content. If there is no such file, the error wraps
// fs.ErrNotExist.
type reader func(path string) ([]byte, error)

func readFile(path string) (content []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content, err = io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("%s: is larger than %d MiB, which no configuration file is", path, maxFileBytes>>20)
	}
	return content, nil
}

// rawProperty is a property before variable expansion.
type rawProperty struct {
	value  string
	source string
}

// rawProperties are the properties of all files that have been read so far.
type rawProperties struct {
	values map[string]rawProperty
	finals map[string]bool
	files  int
	bytes  int
}

func newRawProperties() *rawProperties {
	return &rawProperties{values: map[string]rawProperty{}, finals: map[string]bool{}}
}

// set stores one property. As in Configuration.loadProperty, a final property cannot be
// set again, not even in the same file. An empty value sets nothing, but can be final.
func (r *rawProperties) set(p property, source string) {
	name := currentName(p.name)
	if p.value != "" && !r.finals[name] {
		r.values[name] = rawProperty{value: p.value, source: source}
	}
	if p.final {
		r.finals[name] = true
	}
}

// parseFile reads a file, and the files it includes, into r.
func parseFile(r *rawProperties, path string, read reader) error {
	return parseNested(r, path, read, 0)
}

func parseNested(r *rawProperties, path string, read reader, depth int) error {
	content, err := read(path)
	if err != nil {
		return err
	}
	r.files++
	r.bytes += len(content)
	if r.bytes > maxTotalBytes || r.files > maxFiles {
		return fmt.Errorf("%s: the configuration and what it includes are larger than %d MiB or more than %d files (does a file include itself?)",
			path, maxTotalBytes>>20, maxFiles)
	}
	d := xml.NewDecoder(bytes.NewReader(content))
	d.CharsetReader = charsetReader
	p := &parser{raw: r, path: path, read: read, depth: depth, d: d}
	return p.run()
}

// property is a property element that is being read.
type property struct {
	name, value string
	final       bool
}

// parser reads one file. Like Hadoop's parser, it accepts elements in unexpected places. Unlike
// Hadoop's parser, it fails for a wrong root element and for a property without a name.
type parser struct {
	raw   *rawProperties
	path  string
	read  reader
	depth int
	d     *xml.Decoder

	elements     []string
	rootSeen     bool // the root element has been read
	current      property
	propertyLine int
	inProperty   bool // current is the property whose elements are being read

	text     strings.Builder // the content of the current name, value or final element
	takeText bool            // whether text is being collected

	includes []openInclude
}

// openInclude is an xi:include element whose end has not been read yet.
type openInclude struct {
	href         string
	line         int
	missing      bool // the file does not exist, so that the fallback applies
	inFallback   bool
	fallbackSeen bool
}

func (p *parser) run() error {
	for {
		token, err := p.d.Token()
		if err == io.EOF {
			if !p.rootSeen {
				return p.errorf(p.line(), "has no <configuration> element")
			}
			return nil
		}
		if err != nil {
			return p.syntaxError(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = p.start(t)
		case xml.EndElement:
			err = p.end(t)
		case xml.CharData:
			if p.takeText {
				p.text.Write(t)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) start(e xml.StartElement) error {
	name := e.Name.Local
	if len(p.elements) == 0 {
		if p.rootSeen {
			return p.errorf(p.line(), "has a second root element <%s>", name)
		}
		if name != "configuration" {
			return p.errorf(p.line(), "root element is <%s>, not <configuration>: this is no Hadoop configuration file", name)
		}
		p.rootSeen = true
	}
	if len(p.elements) == maxElementDepth {
		return p.errorf(p.line(), "nests elements deeper than %d", maxElementDepth)
	}
	p.elements = append(p.elements, name)
	switch name {
	case "property":
		p.current, p.inProperty, p.propertyLine = property{}, true, p.line()
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "name":
				p.current.name = strings.TrimSpace(a.Value)
			case "value":
				p.current.value = a.Value
			case "final":
				p.current.final = a.Value == "true"
			}
		}
	case "name", "value", "final":
		p.takeText = true
		p.text.Reset()
	case "include":
		return p.include(e)
	case "fallback":
		if n := len(p.includes); n > 0 {
			p.includes[n-1].inFallback, p.includes[n-1].fallbackSeen = true, true
		}
	}
	return nil
}

func (p *parser) end(e xml.EndElement) error {
	p.elements = p.elements[:len(p.elements)-1]
	switch e.Name.Local {
	case "name", "value", "final":
		p.takeText = false
		text := p.text.String()
		if text == "" {
			return nil
		}
		switch e.Name.Local {
		case "name":
			p.current.name = strings.TrimSpace(text)
		case "value":
			p.current.value = text
		case "final":
			p.current.final = text == "true"
		}
	case "fallback":
		if n := len(p.includes); n > 0 {
			p.includes[n-1].inFallback = false
		}
	case "include":
		n := len(p.includes) - 1
		include := p.includes[n]
		p.includes = p.includes[:n]
		if include.missing && !include.fallbackSeen {
			return p.errorf(include.line, "includes %s, which does not exist, and gives no <xi:fallback>", include.href)
		}
	case "property":
		return p.endProperty()
	}
	return nil
}

func (p *parser) endProperty() error {
	if !p.inProperty {
		return nil
	}
	p.inProperty = false
	if p.inUnusedFallback() {
		return nil
	}
	if p.current.name == "" {
		return p.errorf(p.propertyLine, "<property> without a <name>")
	}
	p.raw.set(p.current, fmt.Sprintf("%s:%d", p.path, p.propertyLine))
	return nil
}

// inUnusedFallback reports whether the parser is in an xi:fallback element that has no
// effect because the file to include exists.
func (p *parser) inUnusedFallback() bool {
	for _, i := range p.includes {
		if i.inFallback && !i.missing {
			return true
		}
	}
	return false
}

// include reads the file that an xi:include element names.
func (p *parser) include(e xml.StartElement) error {
	include := openInclude{line: p.line()}
	for _, a := range e.Attr {
		if a.Name.Local == "href" {
			include.href = strings.TrimSpace(a.Value)
		}
	}
	skip := p.inUnusedFallback() || include.href == ""
	if !skip {
		missing, err := p.readInclude(include.href)
		if err != nil {
			return err
		}
		include.missing = missing
	}
	p.includes = append(p.includes, include)
	return nil
}

// readInclude reads an included file. If the file does not exist, it returns true and no
// error.
func (p *parser) readInclude(href string) (missing bool, err error) {
	path, err := includePath(p.path, href)
	if err != nil {
		return false, p.errorf(p.line(), "%w", err)
	}
	if p.depth == maxIncludeDepth {
		return false, p.errorf(p.line(), "includes %s: includes are nested deeper than %d (does a file include itself?)", href, maxIncludeDepth)
	}
	err = parseNested(p.raw, path, p.read, p.depth+1)
	var absent *fs.PathError
	if errors.As(err, &absent) && absent.Path == path && errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// includePath returns the path of the file that href names. A relative href is resolved
// against the directory of from, the including file.
func includePath(from, href string) (string, error) {
	if u, err := url.Parse(href); err == nil && u.Scheme != "" {
		if u.Scheme != "file" {
			return "", fmt.Errorf("include of %s: only files can be included", href)
		}
		href = u.Path
	}
	if filepath.IsAbs(href) {
		return filepath.Clean(href), nil
	}
	return filepath.Join(filepath.Dir(from), href), nil
}

func (p *parser) line() int {
	line, _ := p.d.InputPos()
	return line
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", p.path, line, fmt.Errorf(format, args...))
}

func (p *parser) syntaxError(err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return p.errorf(syntax.Line, "malformed XML: %s", syntax.Msg)
	}
	return p.errorf(p.line(), "malformed XML: %w", err)
}

// charsetReader returns a reader that converts input from charset to UTF-8. It fails for an
// encoding that configuration files do not commonly use.
func charsetReader(charset string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(charset) {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return input, nil
	case "iso-8859-1", "latin1", "windows-1252":
		content, err := io.ReadAll(input)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for _, c := range content {
			b.WriteRune(rune(c))
		}
		return strings.NewReader(b.String()), nil
	}
	return nil, fmt.Errorf("encoding %q is not supported: save the file as UTF-8", charset)
}
