package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEndedStates(t *testing.T) {
	var executors, drivers []string
	for value, name := range ExecutorState_name {
		if ExecutorState(value).Ended() {
			executors = append(executors, name)
		}
	}
	for value, name := range DriverState_name {
		if DriverState(value).Ended() {
			drivers = append(drivers, name)
		}
	}
	require.ElementsMatch(t, []string{"EXECUTOR_EXITED", "EXECUTOR_FAILED", "EXECUTOR_KILLED", "EXECUTOR_LOST"}, executors)
	require.ElementsMatch(t, []string{"DRIVER_FINISHED", "DRIVER_KILLED", "DRIVER_FAILED", "DRIVER_ERROR", "DRIVER_LOST"}, drivers)
}

func TestAddressesOfResources(t *testing.T) {
	require.Nil(t, ToAddresses(map[string][]string{}))
	require.Nil(t, FromAddresses(nil))
	sent := ToAddresses(map[string][]string{"gpu": {"1", "0", "1"}})
	require.Equal(t, map[string][]string{"gpu": {"0", "1"}}, FromAddresses(sent))
	require.Equal(t, []string{"1", "0", "1"}, sent["gpu"].GetAddresses(), "the message stays as it is")
}
