package wire

// IsIdleHeartbeat is whether a message says only that its executor lives, and of no
// task.
func (x *ExecutorMessage) IsIdleHeartbeat() bool {
	switch {
	case x.GetHeartbeat() == nil || len(x.GetHeartbeat().GetProgress()) > 0,
		x.GetRegister() != nil || x.GetDecommission() != nil || x.GetSuccesses() != nil,
		len(x.GetUpdates()) > 0 || len(x.GetHolds()) > 0 || len(x.GetReleased()) > 0,
		len(x.GetCommitRequests()) > 0 || len(x.GetBarrierArrivals()) > 0:
		return false
	}
	return true
}
