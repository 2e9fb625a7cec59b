package client

import (
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// LocalFile is a file of this machine that lies in the working directory of every
// process of an application.
type LocalFile struct {
	Path       string
	Name       string // in the working directory
	Executable bool   // by its owner
	Archive    bool   // to be unpacked into a directory of the name
}

// LocalFiles are the files and archives that the settings name, for a cluster
// without a file system of its own: a file that is not on this machine is refused,
// as is one called as the program.
func LocalFiles(program string, settings *config.Config) ([]LocalFile, error) {
	name := filepath.Base(program)
	named, err := inputs(&Program{Path: program, Name: name}, config.Files.In(settings), config.Archives.In(settings))
	if err != nil {
		return nil, err
	}
	var files []LocalFile
	for _, one := range named[1:] {
		if one.remote {
			return nil, Usagef("%s: only files of this machine can be shipped to a standalone cluster; tasks can open it in HDFS", one.path)
		}
		info, err := os.Stat(one.path)
		if err != nil {
			return nil, Usage(err)
		}
		files = append(files, LocalFile{Path: one.path, Name: one.name, Archive: one.archive, Executable: info.Mode()&0o100 != 0})
	}
	return files, nil
}
