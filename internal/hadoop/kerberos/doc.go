// Package kerberos logs in to Kerberos and authenticates to Hadoop's services.
//
// [Open] finds the user's ticket in a ticket cache, or gets one with a keytab. A
// [Client] gets tickets for services, and makes a [Context] for each connection that
// SASL GSSAPI authenticates. [Client.RoundTripper] authenticates HTTP requests
// (SPNEGO). [Rules] maps principals to user names as hadoop.security.auth_to_local
// does.
//
// The library gokrb5 has the messages, the encryption and the exchange with the KDC.
// This package adds what it lacks: krb5.conf with included files, the location of
// ticket caches, contexts with sequence numbers and encryption, and errors that say
// what to do.
package kerberos
