// Package kerberos logs in to Kerberos and authenticates to Hadoop's services.
//
// [Open] reads the user's ticket from a ticket cache, or requests a ticket with a keytab. A
// [Client] requests tickets for services, and creates a [Context] for each connection that SASL
// GSSAPI authenticates. [Client.RoundTripper] authenticates HTTP requests (SPNEGO). [Rules]
// maps principals to user names as hadoop.security.auth_to_local does.
//
// The library gokrb5 implements Kerberos' messages, the encryption and the exchange with the
// KDC. This package adds the features that gokrb5 lacks: krb5.conf with included files, the
// location of ticket caches, contexts with sequence numbers and encryption, and error messages
// with remedies.
package kerberos
