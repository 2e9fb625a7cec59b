// Package security identifies callers to Hadoop's daemons, by user names and by tokens.
//
// Tokens and credentials are printed without passwords and secrets: with every verb of fmt, in
// slog and in JSON.
package security
