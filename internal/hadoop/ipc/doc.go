// Package ipc is a client of Hadoop's IPC, version 9: the RPC that Hadoop's
// daemons speak.
//
// A Client sends any number of calls at once over one connection, which it
// makes when first needed, authenticates by a token (SASL DIGEST-MD5, with or
// without integrity and privacy) or, where security is off, by name, closes
// when idle, and makes again when lost. It fails over between the addresses of
// one service.
package ipc
