// Package yarntest simulates a YARN cluster for tests: ResourceManagers and up to thousands of
// NodeManagers in one process, which implement the real protocols (Hadoop IPC with tokens, and
// REST). Tests can inject failures.
//
// A Cluster uses a Network. With Memory, a Cluster and its clients use no sockets, and can run
// in a testing/synctest bubble with a fake clock. With TCP, servers listen on loopback
// addresses, and the clock is real. Clients connect with Cluster.Dial.
//
// The cluster behaves like the CapacityScheduler and the NodeManagers of Hadoop 3.4: the tests
// of package conformance run on this simulation and on real clusters. Tests read its state
// through a View: once (Inspect), after every change (Watch) or until a condition is true
// (Await).
//
// Tests can make calls fail (Inject), and cause events of nodes (Node.Lose and others), of the
// ResourceManager (Restart, Failover), of tokens (RollMasterKey, RollNodeKey, SpoilTokens), of
// the scheduler (IgnoreBlacklists) and of containers (Options.Process, Application.Preempt,
// Application.Surplus).
package yarntest
