// Command schemagen writes the JSON Schema of job files into the current directory,
// for go generate in package jobfile.
package main

import (
	"fmt"
	"os"

	"github.com/bobbin-yarn/bobbin/jobfile"
)

func main() {
	schema, err := jobfile.Schema()
	if err == nil {
		err = os.WriteFile("job.schema.json", schema, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}
