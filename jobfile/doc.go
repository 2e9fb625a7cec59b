// Package jobfile reads the job files of yarn-submit run: YAML files with steps
// of commands, their tasks, and settings. [Read] decodes a file into the types
// of this package ([File]) and reports every problem with its position;
// [Job.Plan] turns it into a plan for package command. job.schema.json, for
// editors, is generated from the same types.
//
// Values are read as they are written: 3.10 stays 3.10, and on and no are text.
// An unknown key is an error, except keys at the top level that start with x-,
// which can hold parts for anchors and aliases.
package jobfile

//go:generate go run ./internal/schemagen
