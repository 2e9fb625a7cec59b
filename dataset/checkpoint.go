package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// checkpointOf begins the names of the plans that read checkpoints; the name of the
// checkpointed data set's plan follows.
const checkpointOf = "checkpoint of "

// Checkpoint computes the elements, writes them to a directory, which must not exist,
// and returns a data set that reads them there. The result does not depend on the data
// sets from which s is computed: if executors are lost, its partitions are read again,
// and what was stored for the others can be removed. It has the same partitions, also
// those by key. The directory appears when all files are complete. The session does not
// remove it; only data sets of the application can read it.
//
// If an earlier attempt of the application has written the directory, Checkpoint
// computes nothing. An application that writes several checkpoints to a directory must
// do it in the same order in each attempt.
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
		j := &job{work: checkpointElements, output: output}
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
	// An earlier attempt may have had other settings.
	hashed = hashed && s.node.hashed && len(partitions) == config.ShufflePartitions.In(e.app.Settings)
	arguments, err := codec.Encode(checkpointed{Path: uri, Site: callSite(), Hashed: hashed})
	if err != nil {
		return nil, err
	}
	read := describe[T](s.session, checkpointOf+strings.TrimPrefix(s.plan.definition, checkpointOf), arguments, nil)
	return read, read.err
}

// checkpointed is the arguments of a plan that reads a checkpoint.
type checkpointed struct {
	_      struct{} `cbor:",toarray"`
	Path   string
	Site   string // of the call of Checkpoint
	Hashed bool   // the elements are divided by key
}

// checkpointReader is the plan that reads a checkpoint.
func checkpointReader[T any](p *Plan, arguments []byte) (any, error) {
	c, err := codec.Decode[checkpointed](arguments)
	if err != nil {
		return nil, err
	}
	values, err := record.CodecFor[T]()
	if err != nil {
		return nil, err
	}
	n := &node{operator: "Checkpoint", source: &source{path: c.Path, whole: true, checkpoint: true}, hashed: c.Hashed}
	n.count = func(l *layout) int { return l.Sources[n.ref()] }
	of := newOf(p, n, func(x *execution, partition int, emit func(T) bool) {
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
	n.site = c.Site // executors run the plan elsewhere
	return of, nil
}

// The files of a checkpoint are parts of an output: one for each task, and then the
// index. All begin with checkpointMagic. A part has blocks of records without keys, whose
// values are the elements; those of a partition follow each other.
const checkpointMagic = "bobbinCP"

var errRemake = errors.New("remove the checkpoint, and make it again")

// checkpointIndex describes the partitions of a checkpoint.
type checkpointIndex struct {
	_       struct{} `cbor:",toarray"`
	Hashed  bool
	Lengths [][]int64 // for each part, the bytes of its partitions
}

// write writes the index as a part.
func (c checkpointIndex) write(ctx context.Context, output *storage.Output, part int) error {
	file, err := output.Part(ctx, part, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Abort() }() // no effect after Commit
	encoded, err := codec.Encode(c)
	if err != nil {
		return err
	}
	content := binary.BigEndian.AppendUint32([]byte(checkpointMagic), crc32.ChecksumIEEE(encoded))
	if _, err := file.Write(append(content, encoded...)); err != nil {
		return err
	}
	return file.Commit()
}

// readIndex reads the file that write has written.
func readIndex(ctx context.Context, files *storage.Files, path string) (index checkpointIndex, err error) {
	file, err := files.Open(ctx, path)
	if err != nil {
		return index, err
	}
	content, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return index, err
	}
	rest, ok := bytes.CutPrefix(content, []byte(checkpointMagic))
	if !ok || len(rest) < 4 || binary.BigEndian.Uint32(rest) != crc32.ChecksumIEEE(rest[4:]) {
		return index, errors.New("it is not the index that the last part of a checkpoint is: that is missing or damaged")
	}
	return codec.Decode[checkpointIndex](rest[4:])
}

// openCheckpoint returns where the partitions of a checkpoint are, and whether they are
// divided by key. It fails unless all parts are there with their right lengths.
func openCheckpoint(ctx context.Context, files *storage.Files, uri string) (partitions [][]storage.Split, hashed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("checkpoint %s: %w", uri, err)
		}
	}()
	listed, err := files.Splits(ctx, uri, storage.SplitOptions{Size: math.MaxInt64})
	if err != nil {
		return nil, false, err
	}
	byName := map[string]storage.Split{}
	for _, split := range listed {
		byName[path.Base(split.Path)] = split
	}
	parts := make([]storage.Split, len(listed))
	for i := range parts {
		name := fmt.Sprintf("part-%05d", i)
		if _, found := byName[name]; !found {
			return nil, false, fmt.Errorf("%s is missing", name)
		}
		parts[i] = byName[name]
	}
	last := len(parts) - 1
	if last < 0 {
		return nil, false, errors.New("it has no files")
	}
	index, err := readIndex(ctx, files, parts[last].Path)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", parts[last].Path, err)
	}
	if len(index.Lengths) != last {
		return nil, false, fmt.Errorf("it has %d parts, but had %d when it was written", last, len(index.Lengths))
	}
	for i, lengths := range index.Lengths {
		offset := int64(len(checkpointMagic))
		for _, length := range lengths {
			split := parts[i]
			split.Offset, split.Length = offset, length
			partitions = append(partitions, []storage.Split{split})
			offset += length
		}
		if parts[i].Length != offset {
			return nil, false, fmt.Errorf("%s has %d bytes, but had %d when it was written: %w", parts[i].Path, parts[i].Length, offset, errRemake)
		}
	}
	return partitions, index.Hashed, nil
}

// checkpoint computes partitions and writes their elements to one part of a checkpoint.
func (s *stageWork) checkpoint(x *execution, partitions span) (elements int64, lengths []int64, err error) {
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
	err = x.over(partitions, func(partition int) {
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

// readElements passes the elements of a partition of a checkpoint to visit, until visit
// returns false or an error. An element is valid until visit returns.
func readElements(ctx context.Context, split storage.Split, visit func(element []byte) (more bool, err error)) error {
	if split.Length == 0 {
		return nil
	}
	file, err := storage.From(ctx).Open(ctx, split.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return permanentError{err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(split.Offset, io.SeekStart); err != nil {
		return err
	}
	for records, err := range shuffle.ReadBlocks(file, split.String(), split.Length) {
		if errors.Is(err, block.ErrDamaged) {
			return permanentError{fmt.Errorf("%w: %w", err, errRemake)}
		}
		if err != nil {
			return err
		}
		for _, element, ok := records.Next(); ok; _, element, ok = records.Next() {
			if more, err := visit(element); !more || err != nil {
				return err
			}
		}
	}
	return nil
}
