// Package security holds what proves to Hadoop's daemons who is calling:
// user names, tokens, and the credentials files that carry tokens into
// containers.
//
// Passwords and secrets never appear in formatted text: tokens and credentials
// print without them under every fmt verb, in slog and in JSON.
package security
