//go:build !linux

package storage

import (
	"io/fs"
	"time"
)

func renameNoReplace(from, to string) error { return renameIfAbsent(from, to) }

func accessTime(info fs.FileInfo) time.Time { return info.ModTime() }

func owner(fs.FileInfo) string { return "" }
