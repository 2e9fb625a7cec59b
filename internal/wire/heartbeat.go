package wire

// IsIdleHeartbeat is whether a message says only that its executor lives, and of no
// task.
func (m *ExecutorMessage) IsIdleHeartbeat() bool {
	switch {
	case m.GetHeartbeat() == nil || len(m.GetHeartbeat().GetProgress()) > 0,
		m.GetRegister() != nil || m.GetDecommission() != nil || m.GetSuccesses() != nil || m.GetWindow() != nil,
		len(m.GetUpdates()) > 0 || len(m.GetHolds()) > 0 || len(m.GetReleased()) > 0,
		len(m.GetCommitRequests()) > 0 || len(m.GetBarrierArrivals()) > 0:
		return false
	}
	return true
}
