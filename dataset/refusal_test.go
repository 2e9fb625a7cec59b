package dataset_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

var (
	// The map has only two elements, so that most runs of the plan function range over it in
	// the same order.
	rangesOverMap = dataset.Define("ranges over a map", func(p *dataset.Plan, paths map[string]bool) *dataset.Of[[]byte] {
		var texts []*dataset.Of[[]byte]
		for path := range paths {
			texts = append(texts, dataset.Text(p, path))
		}
		return dataset.Union(texts[0], texts[1:]...)
	})
	readsClock = dataset.Define("reads the clock", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		return dataset.Sample(source(p, n), 0.5, uint64(time.Now().UnixNano()))
	})
	ofDriver      = dataset.Define("numbers of the driver", source)
	another       *dataset.Of[int64] // a data set that the driver function has made
	usesAnother   = dataset.Define("uses another plan", func(_ *dataset.Plan, _ struct{}) *dataset.Of[int64] { return dataset.Distinct(another) })
	actionError   error
	callsAnAction = dataset.Define("calls an action", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		_, actionError = source(p, n).Collect(context.Background())
		return source(p, n)
	})
)

func TestPlansThatChangeAreRefused(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := rangesOverMap.With(session, map[string]bool{"a": true, "b": true}).Collect(ctx)
		require.ErrorContains(t, err, `plan "ranges over a map": its function describes another data set each time it runs: operator 0 was Text at refusal_test.go`)
		_, err = readsClock.With(session, numbers{10, 2}).Collect(ctx)
		require.ErrorContains(t, err, `plan "reads the clock": its function describes another data set each time it runs: operator 1 was Sample at refusal_test.go`)
	})
}

func TestDataSetsOfAnotherPlanAreRefused(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		another = ofDriver.With(session, numbers{10, 2})
		_, err := usesAnother.With(session, struct{}{}).Collect(ctx)
		require.ErrorContains(t, err, `plan "uses another plan"`)
		require.ErrorContains(t, err, "Distinct uses a data set of another plan: pass it to this plan's function among its arguments")
	})
}

func TestActionsInAPlanFunctionFail(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := callsAnAction.With(session, numbers{10, 2}).Collect(ctx)
		require.NoError(t, err)
		require.ErrorContains(t, actionError, "a data set within a plan function has no elements yet")
	})
}

// TestPlansDefinedByTheDriverFunctionAreRefused runs itself as a program, because bobbin.Main
// ends its process.
func TestPlansDefinedByTheDriverFunctionAreRefused(t *testing.T) {
	const child = "DATASET_TEST_DEFINE_LATE"
	if os.Getenv(child) != "" {
		bobbin.Main(func(ctx context.Context) error {
			session, err := bobbin.NewSession(ctx)
			if err != nil {
				return err
			}
			defer session.Close()
			late := dataset.Define("late", source)
			_, err = late.With(session, numbers{10, 2}).Collect(ctx)
			return fmt.Errorf("refused: %w", err)
		})
	}
	program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	program.Env = append(os.Environ(), child+"=1", "BOBBIN_MASTER=local[1]")
	said, err := program.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), `refused: this program has no plan "late"`)
	require.Contains(t, string(said), "call dataset.Define in package variables")
}
