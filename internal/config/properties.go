package config

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

type property struct {
	key, value string
	line       int
}

// readProperties reads a file in the format of spark-defaults.conf: one
// property a line, the key parted from its value by white space, '=' or ':',
// and comments from a '#' at the start of a line.
func readProperties(path string) ([]property, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("properties file: %w", err)
	}
	defer file.Close()
	var properties []property
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.IndexAny(line, " \t=:")
		if end <= 0 {
			return nil, fmt.Errorf("%s:%d: %q has no value: want \"key value\" or \"key=value\"", path, number, line)
		}
		value := strings.TrimLeft(line[end:], " \t")
		if strings.HasPrefix(value, "=") || strings.HasPrefix(value, ":") {
			value = value[1:]
		}
		properties = append(properties, property{key: line[:end], value: strings.TrimSpace(value), line: number})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("properties file %s: %w", path, err)
	}
	return properties, nil
}
