// Package pools reads scheduling pools from the file that the setting
// "scheduler.allocation.file" names.
//
// The format is that of Spark's fairscheduler.xml:
//
//	<allocations>
//	  <pool name="reports">
//	    <schedulingMode>FAIR</schedulingMode>
//	    <weight>2</weight>
//	    <minShare>4</minShare>
//	  </pool>
//	</allocations>
//
// schedulingMode is FIFO (the default) or FAIR, weight at least 1 (the default),
// and minShare a number of cores, 0 by default. Unlike in Spark, pools may be
// nested, and a malformed file is an error, not a warning.
package pools

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

const (
	// maxBytes and maxDepth are far above the values of any real file.
	maxBytes  = 4 << 20
	maxDepth  = 32
	maxNumber = 1 << 20 // largest weight or minShare, so that the product of two fits into an int
)

// Load parses content and returns the pools in it. If content is "", Load parses the file that
// the setting "scheduler.allocation.file" names.
func Load(c *config.Config, content string) ([]pool.Pool, error) {
	described := []byte(content)
	if content == "" {
		var err error
		if described, err = Content(c); err != nil || described == nil {
			return nil, err
		}
	}
	return Parse(config.AllocationFile.In(c), described)
}

// Content returns the content of the file that the setting "scheduler.allocation.file" names. It
// fails if the file cannot be parsed. It returns nil if the setting is not set or
// "scheduler.mode" is not FAIR.
func Content(c *config.Config) ([]byte, error) {
	file := config.AllocationFile.In(c)
	if file == "" || config.SchedulerMode.In(c) != pool.FAIR.String() {
		return nil, nil
	}
	content, err := read(file)
	if err == nil {
		_, err = Parse(file, content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s (from %s): %w", config.AllocationFile.Name(), c.Source(config.AllocationFile.Name()), err)
	}
	return content, nil
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pools: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("pools: %s: %w", path, err)
	}
	if len(content) > maxBytes {
		return nil, fmt.Errorf("pools: %s is larger than %d MiB: is it the right file?", path, maxBytes>>20)
	}
	return content, nil
}

// Parse returns the pools in a file's content. Errors contain the file's name and the line.
func Parse(name string, content []byte) ([]pool.Pool, error) {
	r := &reader{file: name, lines: map[string]int{}, decoder: xml.NewDecoder(bytes.NewReader(content))}
	root, err := r.root()
	if err != nil {
		return nil, err
	}
	if root.Name.Local != "allocations" {
		return nil, r.errorf("<%s> where <allocations> is expected", root.Name.Local)
	}
	var top pool.Pool
	if err := r.children(root, &top, 0); err != nil {
		return nil, err
	}
	return top.Pools, r.rest()
}

// reader parses the content of one file.
type reader struct {
	file    string
	decoder *xml.Decoder
	lines   map[string]int // line of each pool's element, by pool name
}

func (r *reader) errorf(format string, args ...any) error {
	line, _ := r.decoder.InputPos()
	return fmt.Errorf("pools: %s:%d: %w", r.file, line, fmt.Errorf(format, args...))
}

// token returns the next start or end of an element. It fails if text precedes it.
func (r *reader) token() (xml.Token, error) {
	for {
		token, err := r.decoder.Token()
		if err != nil {
			var syntax *xml.SyntaxError
			switch {
			case errors.Is(err, io.EOF):
				return nil, r.errorf("the file ends before the end of <allocations>")
			case errors.As(err, &syntax):
				return nil, fmt.Errorf("pools: %s:%d: %s", r.file, syntax.Line, syntax.Msg)
			default:
				return nil, r.errorf("%w", err)
			}
		}
		switch token := token.(type) {
		case xml.StartElement, xml.EndElement:
			return token, nil
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				return nil, r.errorf("text %q where an element is expected", text)
			}
		}
	}
}

func (r *reader) root() (xml.StartElement, error) {
	token, err := r.token()
	if err != nil {
		return xml.StartElement{}, err
	}
	return token.(xml.StartElement), nil // a start element, because the decoder rejects an end element without a start
}

// rest returns an error if another element follows the root element.
func (r *reader) rest() error {
	for {
		token, err := r.decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.errorf("%w", err)
		}
		if start, ok := token.(xml.StartElement); ok {
			return r.errorf("<%s> after the end of <allocations>", start.Name.Local)
		}
	}
}

// children reads the child elements of the root element or of a pool's element into a pool.
func (r *reader) children(parent xml.StartElement, into *pool.Pool, depth int) error {
	if depth > maxDepth {
		return r.errorf("pools are nested more than %d deep", maxDepth)
	}
	seen := map[string]bool{}
	for {
		token, err := r.token()
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		name := start.Name.Local
		if name == "pool" {
			if err := r.pool(start, into, depth); err != nil {
				return err
			}
			continue
		}
		if depth == 0 {
			return r.errorf("<%s> where <pool> is expected", name)
		}
		if seen[name] {
			return r.errorf("pool %q has two <%s>", into.Name, name)
		}
		seen[name] = true
		if err := r.property(start, into); err != nil {
			return err
		}
	}
}

func (r *reader) pool(start xml.StartElement, into *pool.Pool, depth int) error {
	pool := pool.Pool{Weight: 1}
	for _, attribute := range start.Attr {
		if attribute.Name.Local != "name" {
			return r.errorf("<pool> has an attribute %s: only name is allowed", attribute.Name.Local)
		}
		pool.Name = strings.TrimSpace(attribute.Value)
	}
	if pool.Name == "" {
		return r.errorf(`a pool without a name: write <pool name="…">`)
	}
	if line, known := r.lines[pool.Name]; known {
		return r.errorf("pool %q is described on line %d already", pool.Name, line)
	}
	r.lines[pool.Name], _ = r.decoder.InputPos()
	if err := r.children(start, &pool, depth+1); err != nil {
		return err
	}
	into.Pools = append(into.Pools, pool)
	return nil
}

func (r *reader) property(start xml.StartElement, into *pool.Pool) error {
	name := start.Name.Local
	value, err := r.text(name)
	if err != nil {
		return err
	}
	switch name {
	case "schedulingMode":
		switch strings.ToUpper(value) {
		case "FIFO":
			into.Mode = pool.FIFO
		case "FAIR":
			into.Mode = pool.FAIR
		default:
			return r.errorf("pool %q: schedulingMode %q: want FIFO or FAIR", into.Name, value)
		}
	case "weight":
		into.Weight, err = r.number(into, name, value, 1)
	case "minShare":
		into.MinShare, err = r.number(into, name, value, 0)
	default:
		return r.errorf("pool %q: <%s> is unknown: want schedulingMode, weight, minShare or pool", into.Name, name)
	}
	return err
}

func (r *reader) number(into *pool.Pool, name, value string, least int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > maxNumber {
		return 0, r.errorf("pool %q: %s %q: want a whole number from %d to %d", into.Name, name, value, least, maxNumber)
	}
	return n, nil
}

// text returns the text in an element. It fails if the element contains other elements.
func (r *reader) text(name string) (string, error) {
	var text strings.Builder
	for {
		token, err := r.decoder.Token()
		if err != nil {
			return "", r.errorf("in <%s>: %w", name, err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			return "", r.errorf("<%s> in <%s>, which may only contain text", token.Name.Local, name)
		case xml.EndElement:
			return strings.TrimSpace(text.String()), nil
		}
	}
}
