package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/stage"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestJobOfTwoStages(t *testing.T) {
	g := stage.New(stage.Config{})
	mapStage, resultStage := stage.StageID{Shuffle: 1}, stage.StageID{Job: 7}
	actions, err := g.Submit(7, []stage.ShuffleID{1}, []stage.ShuffleSpec{{ID: 1, Determinate: true}})
	require.NoError(t, err)
	require.Equal(t, []stage.Action{stage.Plan{Stage: mapStage}}, actions)
	require.Equal(t, []stage.Action{
		stage.Run{Stage: mapStage, Attempt: 1, Tasks: []int{0, 1}, Priority: stage.Priority{Job: 7, Stage: 1}},
	}, g.Planned(mapStage, 2))
	counts, actions := g.TaskDone(1, 1, stage.Output{Executor: "a", Host: "h", Checksum: 5})
	require.True(t, counts)
	require.Empty(t, actions)
	counts, actions = g.TaskDone(1, 0, stage.Output{Executor: "b", Host: "h", Checksum: 6})
	require.True(t, counts)
	require.Equal(t, []stage.Action{stage.Plan{Stage: resultStage}}, actions)
	require.Empty(t, g.SetEnded(1, nil))
	outputs, complete, _ := g.Outputs(1)
	require.True(t, complete)
	require.Equal(t, []stage.Output{
		{Executor: "b", Host: "h", Checksum: 6, Attempt: 1, Generation: 2},
		{Executor: "a", Host: "h", Checksum: 5, Attempt: 1, Generation: 1},
	}, outputs)
	require.Equal(t, []stage.Action{
		stage.Run{Stage: resultStage, Attempt: 2, Tasks: []int{0}, Priority: stage.Priority{Job: 7, Stage: 2}},
	}, g.Planned(resultStage, 1))
	counts, actions = g.TaskDone(2, 0, stage.Output{})
	require.True(t, counts)
	require.Equal(t, []stage.Action{stage.JobDone{Job: 7}}, actions)
}
