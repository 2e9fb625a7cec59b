package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// Version is the version of the format. It changes only if the meaning of existing lines or fields
// changes. New types of lines and new fields do not change it, because readers ignore unknown ones.
const Version = 1

// Types of lines that do not contain a single event.
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

// missingLines is a line that replaces lines that were dropped because the file system was too
// slow.
type missingLines struct {
	Bytes int64 `json:"bytes"` // total size of the dropped lines
}

// appendObject appends one line to lines. The line has the type kind and the fields of object.
func appendObject(lines []byte, kind string, object any) []byte {
	encoded, err := json.Marshal(object)
	if err != nil || len(encoded) < 2 || encoded[0] != '{' {
		return lines // never happens: every type of this package and of package events is encoded as a JSON object
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

// appendSplit appends the rows to lines. Each line has at most maxLineRows rows.
func appendSplit[T any](lines []byte, kind string, columns []column[T], rows []T) []byte {
	for len(rows) > 0 {
		n := min(len(rows), maxLineRows)
		lines = appendRows(lines, kind, columns, rows[:n])
		rows = rows[n:]
	}
	return lines
}

// decodeLine decodes a line and adds its content to the batch b. It ignores lines of unknown types.
func decodeLine(line []byte, b *events.Batch) error {
	var kind struct {
		Type string `json:"type"`
	}
	if bytes.HasPrefix(line, []byte(`{"type":"`)) { // read the type without parsing the line, because lines with rows are long
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
