package dataset

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// adoptFunction is the name of the task function that copies map outputs and cached
// partitions from another executor, for example one that is being decommissioned.
const adoptFunction = "bobbin/dataset/adopt"

func init() { function.Register(adoptFunction, adopt) }

// adoptInput lists the data that a task must copy to its executor.
type adoptInput struct {
	_       struct{} `cbor:",toarray"`
	Outputs []shuffle.Output
	Cached  []cachedCopy
}

// cachedCopy is a cached partition that must be copied.
type cachedCopy struct {
	_       struct{} `cbor:",toarray"`
	Block   cachedBlock
	Level   Level
	Address string // data port of the executor that stores it
}

// adoptOutput lists the data that a task has copied to its executor.
type adoptOutput struct {
	_          struct{} `cbor:",toarray"`
	Outputs    []shuffle.Output
	Cached     []cachedBlock
	CacheSizes *cacheSizes // nil if Cached is empty
	Problem    string      // first error that prevented a copy; "" if all data was copied
}

// adopt is a task function that copies data to this executor. It succeeds even if some data
// cannot be read, because a retry on another executor could not read this data either.
func adopt(ctx context.Context, call function.Call) ([]byte, error) {
	input, err := codec.Decode[adoptInput](call.Input)
	if err != nil {
		return nil, err
	}
	service, task := shuffle.From(ctx), bobbin.NewTask(ctx, call)
	var output adoptOutput
	// failed records an error. It reports whether the task must stop, because it was
	// cancelled or the executor that stores the data does not answer.
	failed := func(err error) bool {
		if output.Problem == "" {
			output.Problem = err.Error()
		}
		return ctx.Err() != nil || errors.Is(err, transfer.ErrUnreachable)
	}
	for _, wanted := range input.Outputs {
		task.Hold(shuffle.HoldKey(wanted.MapID.Shuffle))
		adopted, err := service.Adopt(ctx, wanted)
		if err == nil {
			output.Outputs = append(output.Outputs, adopted)
		} else if failed(err) {
			break
		}
	}
	for _, wanted := range input.Cached {
		err := wanted.adopt(task, service)
		if err == nil {
			output.Cached = append(output.Cached, wanted.Block)
		} else if failed(err) {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(output.Cached) > 0 {
		output.CacheSizes = cacheSizesOf(service.Store())
	}
	return codec.Encode(output)
}

// adopt copies a cached partition to this executor.
func (c *cachedCopy) adopt(task *bobbin.Task, service *shuffle.Service) error {
	content, err := service.FetchBlock(task, c.Address, c.Block.id())
	if err != nil {
		return err
	}
	task.Hold(cacheKey(c.Block.Node))
	if err := service.Store().Put(c.Block.id(), content, c.Level.blockLevel()); err != nil && !errors.Is(err, block.ErrExists) {
		return err
	}
	return nil
}
