package dataset

import (
	"context"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// checkpointPrefix, followed by the name of the plan whose data set was written, is the
// name of the plan that reads a checkpoint.
const checkpointPrefix = "checkpoint of "

// Checkpoint computes the elements of s and writes them to files in a directory, which must
// not exist. It returns a data set that reads these files and has the same partitions as s.
// If s is partitioned by key, so is the result. The result does not depend on s: if
// executors are lost, the files are read again, and the map outputs of the shuffles of s
// can be removed. The directory appears when all files are complete. It remains when the
// session ends, but only the same application can read it as a data set.
//
// If an earlier attempt of the application has written the directory, Checkpoint computes
// nothing. An application that writes several checkpoints to the same directory, one after
// another, must write them in the same order in each attempt.
func (s *Of[T]) Checkpoint(ctx context.Context, directory string) (*Of[T], error) {
	if s.err != nil {
		return nil, s.err
	}
	if _, err := record.CodecFor[T](); err != nil {
		return nil, fmt.Errorf("%s: its elements cannot be written to a checkpoint: %w", s.node, err)
	}
	e, err := engineOf(s.session)
	if err != nil {
		return nil, err
	}
	err = e.writeOutput(ctx, directory, nil, func(ctx context.Context, output *storage.Output) (int, error) {
		j := &job{kind: checkpointElements, output: output}
		if _, err := runJob(ctx, s, j); err != nil {
			return 0, err
		}
		index := checkpointIndex{Hashed: s.node.hashed}
		for _, output := range j.outputs {
			index.Lengths = append(index.Lengths, output.Lengths)
		}
		return len(j.outputs) + 1, index.write(ctx, output, len(j.outputs))
	})
	if err != nil {
		return nil, err
	}
	uri, err := e.app.Files.Qualify(directory)
	if err != nil {
		return nil, err
	}
	partitions, hashed, err := openCheckpoint(ctx, e.app.Files, uri)
	if err != nil {
		return nil, err
	}
	// If an earlier attempt wrote the checkpoint with another number of shuffle partitions,
	// its elements are in other partitions than the current partitioning by key requires.
	hashed = hashed && s.node.hashed && len(partitions) == config.ShufflePartitions.In(e.app.Settings)
	arguments, err := codec.Encode(checkpointArguments{Path: uri, Site: callSite(), Hashed: hashed})
	if err != nil {
		return nil, err
	}
	read := describePlan[T](s.session, checkpointPrefix+strings.TrimPrefix(s.plan.definition, checkpointPrefix), arguments, nil)
	return read, read.err
}

// checkpointArguments are the arguments of a plan that reads a checkpoint.
type checkpointArguments struct {
	_      struct{} `cbor:",toarray"`
	Path   string
	Site   string // file and line of the call of Checkpoint
	Hashed bool   // whether the elements are partitioned by the hash of their keys
}

// checkpointReader is the plan function that reads a checkpoint.
func checkpointReader[T any](p *Plan, arguments []byte) (any, error) {
	c, err := codec.Decode[checkpointArguments](arguments)
	if err != nil {
		return nil, err
	}
	values, err := record.CodecFor[T]()
	if err != nil {
		return nil, err
	}
	n := &node{operator: "Checkpoint", source: &source{paths: []string{c.Path}, whole: true, checkpoint: true}, hashed: c.Hashed}
	n.partitions = func(l *layout) int { return l.Sources[n.ref()] }
	of := newOf(p, n, func(x *taskContext, partition int, emit func(T) bool) {
		for _, split := range x.splits(n, partition) {
			if err := readElements(x.task, split, func(element []byte) (bool, error) {
				x.measured.RecordsIn++
				value, err := values.Decode(element)
				return err == nil && emit(value), err
			}); err != nil {
				x.fail(err)
				return
			}
		}
	})
	n.callSite = c.Site // executors also run this plan function; there, callSite would return another line
	return of, nil
}

// checkpoint computes partitions and writes their elements to one part of a checkpoint. It
// returns the number of elements and, for each partition, the number of bytes in the part.
func (s *decodedStage) checkpoint(x *taskContext, partitions span) (elements int64, lengths []int64, err error) {
	part, err := s.Output.Part(x.task, x.task.Index(), x.task.Attempt())
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = part.Abort() }() // no effect after Commit
	if _, err := part.Write([]byte(checkpointMagic)); err != nil {
		return 0, nil, err
	}
	file := shuffle.NewBlockWriter(part)
	defer file.Release()
	begin := int64(0)
	err = x.eachPartition(partitions, func(partition int) {
		s.final.collect(x, partition, func(element []byte) bool {
			elements++
			err := file.Add(nil, element)
			return err == nil || x.fail(err)
		})
		end, err := file.EndBlock()
		if err != nil {
			x.fail(err)
		}
		lengths = append(lengths, end-begin)
		begin = end
	})
	if err == nil {
		err = file.Flush()
	}
	if err != nil {
		return 0, nil, err
	}
	return elements, lengths, x.task.CommitOutput(part.Commit)
}
