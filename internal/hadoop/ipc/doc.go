// Package ipc is a client of Hadoop RPC (org.apache.hadoop.ipc), protocol version 9.
//
// A Client sends all its calls over one connection, concurrently. It connects at the first
// call, and closes the connection when it is idle. After a connection was closed or lost, the
// next call or attempt opens a new connection. A Client authenticates with a token (SASL
// DIGEST-MD5) or Kerberos (SASL GSSAPI), both with or without integrity and privacy. On
// clusters without Kerberos, it can send the user's name without authentication. It fails over
// between the addresses of one service.
package ipc
