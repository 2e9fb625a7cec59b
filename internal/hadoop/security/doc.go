// Package security has the identities of callers of Hadoop's daemons: user names,
// tokens, and the credentials files that carry tokens into containers.
//
// Tokens and credentials print without passwords and secrets, with every fmt verb,
// in slog and in JSON.
package security
