// Package ipc is a client of Hadoop RPC (org.apache.hadoop.ipc), protocol version 9.
//
// A Client sends all its calls over one connection, concurrently. It connects with the
// first call, closes the connection when it is idle, and reconnects when it is lost. It
// authenticates with a token (SASL DIGEST-MD5) or Kerberos (SASL GSSAPI), both with or
// without integrity and privacy. On clusters without Kerberos, it can just state the user's
// name. It fails over between the addresses of one service.
package ipc
