package main

import (
	"fmt"
	"io"
	"time"
)

// writeAr writes an ar archive in the form that deb(5) requires: names of at most 15 bytes, no
// symbol table, and members in the order of entries.
func writeAr(w io.Writer, entries []entry, at time.Time) error {
	if _, err := io.WriteString(w, "!<arch>\n"); err != nil {
		return err
	}
	for _, e := range entries {
		const longest = 15
		if len(e.name) > longest {
			return fmt.Errorf("%s: a name in an ar archive has at most %d bytes", e.name, longest)
		}
		// The header: name, time, owner, group, mode and size, padded with spaces.
		header := fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", e.name, at.Unix(), 0, 0, "100644", len(e.content))
		content := e.content
		if len(content)%2 != 0 {
			content = append(content[:len(content):len(content)], '\n')
		}
		if _, err := w.Write(append([]byte(header), content...)); err != nil {
			return err
		}
	}
	return nil
}
