package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// checksums is the name of the file with the checksums, in the format of sha256sum -c.
const checksums = "SHA256SUMS"

// writeChecksums writes SHA256SUMS with the checksums of all files in a directory.
func writeChecksums(directory string) error {
	files, err := os.ReadDir(directory) // the entries are sorted by name
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(directory, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), file.Name())
	}
	return os.WriteFile(filepath.Join(directory, checksums), sums.Bytes(), 0o644)
}
