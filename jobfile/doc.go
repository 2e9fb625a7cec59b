// Package jobfile reads the job files of yarn-submit run: YAML that says which
// commands are to run, as which tasks, after which others, with what around
// them. A file is read against the types of this package ([File]) with a position
// for all that is wrong; job.schema.json, which editors use, is made of the same
// types.
//
// Values are taken as they are written: 3.10 is no number that loses its zero,
// and on and no are texts. A key that is not known is an error everywhere, but at
// the top those that begin with x-, for parts that anchors and aliases repeat.
package jobfile

//go:generate go run ./internal/schemagen
