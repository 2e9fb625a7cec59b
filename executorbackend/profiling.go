package executorbackend

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// Keys of labels in an executor's profiles. The values are the executor's id, and the name of
// the task set of the task that a sample belongs to.
const (
	executorLabel = "executor"
	taskSetLabel  = "task_set"
)

// takePprof takes a profile of this process and sends it. If the executor stops, the profile
// covers less time than requested.
func (e *engine) takePprof(request *wire.ProfileRequest) {
	reply := &wire.Profile{Id: request.GetId()}
	content, err := e.encodedPprof(request)
	if err == nil && len(content) > maxPprofBytes {
		err = fmt.Errorf("it has %d bytes, the most is %d", len(content), maxPprofBytes)
	}
	if err != nil {
		reply.Error = err.Error()
	} else {
		reply.Content = content
	}
	e.out.sendProfile(reply)
}

// maxPprofBytes is the largest size in bytes of an encoded profile, because a profile is sent in
// one message.
const maxPprofBytes = 2 * wire.MaxPart

func (e *engine) encodedPprof(request *wire.ProfileRequest) ([]byte, error) {
	p, err := profiling.Take(e.tasksCtx, request.GetType(), time.Duration(request.GetNanos()))
	if err != nil {
		return nil, err
	}
	profiling.Label(p, executorLabel, e.options.ID)
	for _, sample := range p.Sample {
		if label := sample.Label[taskLabel]; len(label) > 0 {
			// Replace the label by the set's name. The label begins with a random prefix of this
			// executor. With it, equal samples of several executors could not be merged.
			delete(sample.Label, taskLabel)
			sample.Label[taskSetLabel] = []string{taskSetName(label[0])}
		}
	}
	return profiling.Encode(p)
}
