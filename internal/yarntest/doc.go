// Package yarntest is a YARN cluster for tests: a ResourceManager, or several,
// and thousands of NodeManagers that speak the real protocols (Hadoop IPC with
// tokens, and REST) in one process, and that fail on demand.
//
// A Cluster lives on a Network. On Memory it uses no socket, so that it and the
// clients under test fit into a bubble of testing/synctest, whose clock is then
// the cluster's: minutes pass in no time. On TCP it listens on loopback, in
// real time. Clients reach it through Cluster.Dial in either.
//
// It behaves as CapacityScheduler and NodeManagers of Hadoop 3.4 do: the tests of
// package conformance run over both. View shows its whole state, at any moment (Look),
// after every change (Watch) or until a condition holds (Await).
//
// Faults are of two kinds: calls that fail (Inject), and things that happen to nodes (Node.Lose and others), to the ResourceManager (Restart, Failover),
// to tokens (RollMasterKey, RollNodeKey, SpoilTokens), to what is asked for
// (IgnoreBlacklists), to containers (Options.Process,
// Application.Preempt, Application.Surplus).
package yarntest
