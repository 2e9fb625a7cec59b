package config

// How yarn-submit follows an application.
var (
	SubmitTimeout = duration("yarn.submit.timeout", "0s", "How long an application may take, from when `yarn-submit` has submitted it or begins to "+
		"follow it: then it is killed. Where `yarn-submit` does not wait, the ResourceManager kills it. 0 for no bound.")
	IdempotencyKey = text("yarn.submit.idempotencyKey", "", "What is submitted by one user with the same key is one application: where one runs, "+
		"`yarn-submit` follows it, and where one has succeeded that the ResourceManager, or the master of a standalone cluster, still knows, it tells so; it starts "+
		"none then. One that failed or "+
		"was killed does not count. Cluster mode alone.")
)
