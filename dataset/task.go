package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	peers "github.com/bobbin-yarn/bobbin/broadcast"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// taskFunction is the name of the task function that runs the tasks of all stages.
const taskFunction = "bobbin/dataset"

func init() { function.Register(taskFunction, runTask) }

// taskKind is what the tasks of a stage do.
type taskKind int

const (
	writeShuffle taskKind = iota // write the records of a shuffle
	collectElements
	countElements
	countPartitions // count the elements of each partition
	saveElements
	checkpointElements
	sampleKeys
	measureShuffle // the stage has no tasks; the job runs only the stages before it
)

// byPartition reports whether a task's result has a value for each partition. If so, no
// partition may be divided among tasks.
func (w taskKind) byPartition() bool { return w == countPartitions || w == checkpointElements }

// stageInput is what all tasks of a stage have in common.
type stageInput struct {
	_        struct{} `cbor:",toarray"`
	Plans    []planInput
	Attempt  int // of the stage
	Final    ref // the node whose partitions are computed
	Kind     taskKind
	Exchange int // writeShuffle, sampleKeys: index among the shuffles that Reader reads
	Reader   ref
	Limit    int64           // collectElements: number of elements, 0 means all; sampleKeys: number of keys in each partition
	Output   *storage.Output // saveElements, checkpointElements
	// OutputFormat is the format of the files of saveElements.
	OutputFormat outputFormat
	Layout       layout
	// Broadcasts are the broadcast values that the functions of the stage may use.
	Broadcasts []peers.Value
}

// planInput describes a plan that tasks need, so that executors can run its plan function.
type planInput struct {
	_           struct{} `cbor:",toarray"`
	ID          uint64
	Definition  string
	Arguments   []byte
	Fingerprint []string
}

// taskInput is the input of one task.
type taskInput struct {
	_          struct{} `cbor:",toarray"`
	Partitions span
	Piece      piece
	Sources    []sourceInput
	Cached     []cachedLocation
}

// cachedLocation locates a partition of a cached data set.
type cachedLocation struct {
	_        struct{} `cbor:",toarray"`
	Block    cachedBlock
	Executor string
	Address  string // data port of the executor
}

// sourceInput is a partition of a source.
type sourceInput struct {
	_         struct{} `cbor:",toarray"`
	Node      ref
	Partition int
	Splits    []storage.Split
}

// taskOutput is the result of one task.
type taskOutput struct {
	_ struct{} `cbor:",toarray"`
	// FetchFailure is set if the task could not fetch a map output. Then all other fields
	// except Cached and CacheSizes are zero.
	FetchFailure *fetchFailure
	Output       *shuffle.Output // writeShuffle
	Count        int64           // number of elements
	Counts       []int64         // countPartitions: number of elements of each partition
	Lengths      []int64         // checkpointElements: bytes of each partition
	Elements     []byte          // collectElements: the elements; sampleKeys: the keys
	Cached       []cachedBlock   // blocks that the task has stored
	CacheSizes   *cacheSizes     // nil if Cached is empty
	Counters     map[string]int64
	Measured     measurements
}

// fetchFailure identifies a map output that a task could not fetch.
type fetchFailure struct {
	_       struct{} `cbor:",toarray"`
	Shuffle uint64
	Map     uint64
	Attempt uint64
	Gone    bool // the executor does not answer, or files are missing
	// Unreachable is the id of the executor if it did not answer; otherwise "".
	Unreachable string
}

// runTask runs one task of a stage. It returns a fetch failure as a result and not as an
// error, because a retry of the task would not help: the lost output must be computed again
// first.
func runTask(ctx context.Context, call function.Call) ([]byte, error) {
	stage, err := stages.decode(call.Shared)
	if err != nil {
		return nil, err
	}
	input, err := codec.Decode[taskInput](call.Input)
	if err != nil {
		return nil, err
	}
	if err := loadBroadcasts(ctx, stage.Broadcasts); err != nil {
		return nil, err
	}
	service := shuffle.From(ctx)
	task := bobbin.NewTask(ctx, call)
	x := &taskContext{task: task, service: service, layout: &stage.Layout, piece: input.Piece, sources: map[ref]map[int][]storage.Split{}, locations: map[cachedBlock][]string{}}
	for _, source := range input.Sources {
		if x.sources[source.Node] == nil {
			x.sources[source.Node] = map[int][]storage.Split{}
		}
		x.sources[source.Node][source.Partition] = source.Splits
	}
	for _, location := range input.Cached {
		x.locations[location.Block] = append(x.locations[location.Block], location.Address)
	}
	x.sampling = stage.Kind == sampleKeys
	x.divideMemory(stage)
	output, err := stage.run(x, input.Partitions)
	var failed *shuffle.FetchError
	switch {
	case errors.As(err, &failed) && ctx.Err() == nil:
		call.Values.Reset()
		id := failed.Output.MapID
		failure := &fetchFailure{Shuffle: id.Shuffle, Map: id.Map, Attempt: id.Attempt,
			Gone: errors.Is(err, block.ErrNotFound) || errors.Is(err, os.ErrNotExist)}
		if errors.Is(err, transfer.ErrUnreachable) {
			failure.Gone, failure.Unreachable = true, failed.Output.ExecutorID
		}
		output = taskOutput{FetchFailure: failure}
	case err != nil:
		return nil, err
	default:
		// The driver adds the counters once for each task of a stage, even if the task runs
		// several times.
		output.Counters, _ = call.Values.Read()
		call.Values.ResetCounters()
		x.measured.RecordsOut = output.Count
		x.measured.BytesRead, x.measured.BytesWritten = call.Usage.Bytes()
		output.Measured = x.measured
	}
	if output.Cached = x.cachedBlocks; len(output.Cached) > 0 {
		output.CacheSizes = cacheSizesOf(service.Store())
	}
	return codec.Encode(output)
}

// decodedStage is a decoded stageInput.
type decodedStage struct {
	stageInput
	final    *node
	exchange *exchange // nil unless the stage writes or samples a shuffle
}

// stages caches the decoded stages of this process.
var stages = stageCache{byKey: map[[16]byte]*decodedStage{}}

// stageCache stores the maxStages stages that were decoded last. The tasks of a stage share
// the decoded stage.
type stageCache struct {
	sync.Mutex
	byKey map[[16]byte]*decodedStage
	keys  [][16]byte // in the order of decoding
}

// maxStages is the largest number of decoded stages in a process.
const maxStages = 32

// decode returns the decoded stage for common, which consists of 16 bytes that identify the
// attempt of the stage and an encoded stageInput.
func (c *stageCache) decode(common []byte) (*decodedStage, error) {
	if len(common) < 16 {
		return nil, errors.New("the stage's description is too short")
	}
	key := [16]byte(common)
	c.Lock()
	defer c.Unlock()
	if s := c.byKey[key]; s != nil {
		return s, nil
	}
	decoded, err := codec.Decode[stageInput](common[16:])
	if err != nil {
		return nil, err
	}
	for _, input := range decoded.Plans {
		if err := retrace(input); err != nil {
			return nil, permanentError{err}
		}
	}
	s := &decodedStage{stageInput: decoded}
	if s.final, err = findNode(decoded.Final); err != nil {
		return nil, err
	}
	if decoded.Kind == writeShuffle || decoded.Kind == sampleKeys {
		reader, err := findNode(decoded.Reader)
		if err != nil {
			return nil, err
		}
		s.exchange = reader.shuffles[decoded.Exchange]
	}
	c.byKey[key] = s
	if c.keys = append(c.keys, key); len(c.keys) > maxStages {
		oldest := c.byKey[c.keys[0]]
		delete(c.byKey, c.keys[0])
		c.keys = c.keys[1:]
		c.forgetPlans(oldest)
	}
	return s, nil
}

// forgetPlans removes the plans that no stage but the removed one needs. If a later stage
// needs such a plan, retrace runs its plan function again.
func (c *stageCache) forgetPlans(removed *decodedStage) {
	needed := map[uint64]bool{}
	for _, s := range c.byKey {
		for _, input := range s.Plans {
			needed[input.ID] = true
		}
	}
	for _, input := range removed.Plans {
		if p := plans.get(input.ID); p != nil && p.retraced && !needed[input.ID] {
			plans.remove(input.ID)
		}
	}
}

// retrace runs in this process the plan function of a plan that the driver described, unless
// plans already has the plan. It fails if the plan differs from the driver's.
func retrace(input planInput) error {
	p := plans.get(input.ID)
	if p == nil {
		var err error
		if p, _, err = trace(input.ID, input.Definition, input.Arguments); err != nil {
			return err
		}
		p.retraced = true
		plans.add(p)
	}
	return p.checkEqual(input.Fingerprint)
}

func findNode(r ref) (*node, error) {
	if p := plans.get(r.Plan); p != nil && r.Node < len(p.nodes) {
		return p.nodes[r.Node], nil
	}
	return nil, fmt.Errorf("the data set %s is not known", r)
}

// run computes partitions and processes their elements according to s.Kind.
func (s *decodedStage) run(x *taskContext, partitions span) (output taskOutput, err error) {
	switch s.Kind {
	case writeShuffle:
		return s.write(x, partitions)
	case sampleKeys:
		err = x.eachPartition(partitions, func(partition int) {
			left := s.Limit
			s.exchange.sample(x, partition, func(key []byte) bool {
				output.Elements = append(binary.AppendUvarint(output.Elements, uint64(len(key))), key...)
				left--
				return left > 0
			})
		})
	case collectElements:
		err = x.eachPartition(partitions, func(partition int) {
			s.final.collect(x, partition, func(element []byte) bool {
				output.Elements = append(binary.AppendUvarint(output.Elements, uint64(len(element))), element...)
				output.Count++
				return s.Limit == 0 || output.Count < s.Limit
			})
		})
	case countElements:
		err = x.eachPartition(partitions, func(partition int) {
			output.Count += s.final.countElements(x, partition)
		})
	case countPartitions:
		err = x.eachPartition(partitions, func(partition int) {
			output.Counts = append(output.Counts, s.final.countElements(x, partition))
		})
	case saveElements:
		output.Count, err = s.save(x, partitions)
	case checkpointElements:
		output.Count, output.Lengths, err = s.checkpoint(x, partitions)
	}
	return output, err
}

// write computes partitions and writes their records to the shuffle.
func (s *decodedStage) write(x *taskContext, partitions span) (taskOutput, error) {
	id := shuffle.MapID{Shuffle: s.exchange.id(), Map: uint64(x.task.Index()), Attempt: uint64(s.Attempt)<<32 | uint64(x.task.Attempt())}
	kept, err := x.service.KeepsOnNode()
	if err != nil {
		return taskOutput{}, err
	}
	if !kept {
		x.task.Hold(shuffle.HoldKey(id.Shuffle))
	}
	out := x.service.NewWriter(id, x.layout.count(s.exchange.node), x.operatorMemory)
	defer out.Abort()
	if err := s.exchange.write(x, partitions, out); err != nil {
		return taskOutput{}, err
	}
	written, err := out.Commit()
	x.measured.SpilledBytes += out.Spilled()
	x.measured.ShuffleBytes = written.Bytes
	return taskOutput{Output: &written, Count: written.Records}, err
}
