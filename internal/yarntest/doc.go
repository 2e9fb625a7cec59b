// Package yarntest is a YARN cluster for tests: a ResourceManager, or several,
// and thousands of NodeManagers that speak the real protocols (Hadoop IPC with
// tokens, and REST) in one process, and that fail on demand.
//
// A Cluster uses a Network. With Memory it uses no socket, so that it and the
// clients under test can run in a bubble of testing/synctest with a fake clock.
// With TCP it listens on loopback, in real time. Clients connect with Cluster.Dial.
//
// It behaves like CapacityScheduler and NodeManagers of Hadoop 3.4: the tests of
// package conformance run with both. A View is its whole state: now (Inspect), after
// every change (Watch) or until a condition holds (Await).
//
// Faults are calls that fail (Inject), and events at nodes (Node.Lose and others), the
// ResourceManager (Restart, Failover), tokens (RollMasterKey, RollNodeKey,
// SpoilTokens), the scheduler (IgnoreBlacklists) and containers (Options.Process,
// Application.Preempt, Application.Surplus).
package yarntest
