package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// Version is the version of the format. It changes only if existing lines or fields get
// another meaning: new ones need no new version, because readers ignore what they do not know.
const Version = 1

// Types of lines that are not events.
const (
	typeLog          = "log"
	typeAttempts     = "attempts"
	typeOmitted      = "omitted"
	typeMeasurements = "measurements"
	typeMemory       = "memory"
	typeGap          = "gap"
	typeSummary      = "summary"
)

// header is the first line of a log.
type header struct {
	Version     int    `json:"version"`
	Application string `json:"application"`
	Attempt     int    `json:"attempt"`
}

// missingLines is a line in place of lines that were dropped, because the file system was too
// slow.
type missingLines struct {
	Bytes int64 `json:"bytes"` // size of the missing lines
}

// appendObject appends a line with the type kind and the fields of object to lines.
func appendObject(lines []byte, kind string, object any) []byte {
	encoded, err := json.Marshal(object)
	if err != nil || len(encoded) < 2 || encoded[0] != '{' {
		return lines // never happens: objects of this package and of events are JSON objects
	}
	lines = append(lines, `{"type":"`...)
	lines = append(lines, kind...)
	lines = append(lines, '"')
	if len(encoded) > 2 {
		lines = append(lines, ',')
	}
	lines = append(lines, encoded[1:]...)
	return append(lines, '\n')
}

// appendSplit appends lines with rows to lines, at most maxLineRows rows in each.
func appendSplit[T any](lines []byte, kind string, columns []column[T], rows []T) []byte {
	for len(rows) > 0 {
		n := min(len(rows), maxLineRows)
		lines = appendRows(lines, kind, columns, rows[:n])
		rows = rows[n:]
	}
	return lines
}

// decodeLine decodes a line and adds its content to a batch. It ignores lines of unknown types.
func decodeLine(line []byte, b *events.Batch) error {
	var kind struct {
		Type string `json:"type"`
	}
	if bytes.HasPrefix(line, []byte(`{"type":"`)) { // lines with rows are too long to parse twice
		name, _, _ := bytes.Cut(line[len(`{"type":"`):], []byte(`"`))
		kind.Type = string(name)
	} else if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	var err error
	switch kind.Type {
	case typeAttempts:
		b.Attempts, err = addRows(b.Attempts, line, attemptColumns)
	case typeMeasurements:
		b.Measurements, err = addRows(b.Measurements, line, measurementColumns)
	case typeMemory:
		b.Memory, err = addRows(b.Memory, line, memoryColumns)
	case typeOmitted:
		var omitted events.Omitted
		err = json.Unmarshal(line, &omitted)
		b.Omitted = append(b.Omitted, omitted)
	case typeLog:
		var h header
		if err = json.Unmarshal(line, &h); err == nil && h.Version > Version {
			err = fmt.Errorf("the log has format %d, and this program reads up to %d: use a newer yarn-submit", h.Version, Version)
		}
	case "":
		err = errors.New("a line without a type")
	default:
		if event := events.New(kind.Type); event != nil {
			err = json.Unmarshal(line, event)
			b.Events = append(b.Events, event)
		}
	}
	if err != nil {
		return fmt.Errorf("a line of type %q: %w", kind.Type, err)
	}
	return nil
}

func addRows[T any](rows []T, line []byte, columns []column[T]) ([]T, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return rows, err
	}
	added, err := decodeRows(fields, columns)
	return append(rows, added...), err
}
