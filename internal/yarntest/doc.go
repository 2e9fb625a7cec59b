// Package yarntest simulates a YARN cluster for tests: ResourceManagers and up to
// thousands of NodeManagers in one process, which speak the real protocols (Hadoop
// IPC with tokens, and REST) and fail on demand.
//
// A Cluster uses a Network. With Memory, a Cluster and its clients use no socket,
// and can run in a bubble of testing/synctest with a fake clock. With TCP it listens
// on loopback, in real time. Clients connect with Cluster.Dial.
//
// The cluster behaves like the CapacityScheduler and the NodeManagers of Hadoop 3.4:
// the tests of package conformance run on both. Tests see its state as a View: once
// (Inspect), after every change (Watch) or until a condition holds (Await).
//
// Tests can make calls fail (Inject), and cause events of nodes (Node.Lose and
// others), of the ResourceManager (Restart, Failover), of tokens (RollMasterKey,
// RollNodeKey, SpoilTokens), of the scheduler (IgnoreBlacklists) and of containers
// (Options.Process, Application.Preempt, Application.Surplus).
package yarntest
