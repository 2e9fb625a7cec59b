// Package jobfile reads the job files of yarn-submit run: YAML files with settings and steps.
// A step has a command and tasks, or a streaming job. [Read] decodes a file into the types of
// this package ([File]) and reports every problem with its position. [Job.Plan] converts a job
// to a plan for package command. job.schema.json, a JSON Schema for editors, is generated from
// the same types.
//
// Scalars are read as text: 3.10 remains 3.10, and on and no are not booleans. An unknown key
// is an error, except for top-level keys that start with x-. The values of such keys are
// ignored; a file can define anchors in them, which aliases elsewhere repeat.
package jobfile

//go:generate go run ./internal/schemagen
