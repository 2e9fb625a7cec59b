package protocol

// Ended reports whether the state is one in which an executor stays.
func (s ExecutorState) Ended() bool {
	return s != ExecutorState_EXECUTOR_LAUNCHING && s != ExecutorState_EXECUTOR_RUNNING
}

// Ended reports whether the state is one in which a driver stays.
func (s DriverState) Ended() bool {
	switch s {
	case DriverState_DRIVER_FINISHED, DriverState_DRIVER_KILLED, DriverState_DRIVER_FAILED, DriverState_DRIVER_ERROR,
		DriverState_DRIVER_LOST:
		return true
	}
	return false
}
