// Package jobfile reads the job files of yarn-submit run: YAML files with settings
// and steps, each with a command and tasks. [Read] decodes a file into the types of
// this package ([File]) and reports every problem with its position. [Job.Plan]
// makes a plan for package command. job.schema.json, for editors, is generated from
// the same types.
//
// Scalars are read as text: 3.10 remains 3.10, and on and no are not booleans. An unknown
// key is an error, except for top-level keys that start with x-. Under such a key, a file
// can define parts with anchors, which aliases repeat elsewhere.
package jobfile

//go:generate go run ./internal/schemagen
