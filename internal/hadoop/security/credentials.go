package security

import (
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"slices"
)

// Credentials are the tokens and secrets that YARN passes to a container, each under an alias.
// The zero value is empty. Credentials are not safe for concurrent changes.
type Credentials struct {
	tokens  map[string]Token
	secrets map[string][]byte
}

// SetToken stores t under alias, and replaces an earlier token under alias.
func (c *Credentials) SetToken(alias string, t Token) {
	if c.tokens == nil {
		c.tokens = map[string]Token{}
	}
	c.tokens[alias] = t
}

// Token returns the token under alias, and reports whether there is such a token.
func (c *Credentials) Token(alias string) (Token, bool) {
	t, ok := c.tokens[alias]
	return t, ok
}

// TokenOfKind returns a token of the given kind, and reports whether there is such a token. If
// there are several, it returns the token whose alias is alphabetically first. AMRMTokens
// cannot be found by alias: their alias is the ResourceManager's address in some versions of
// Hadoop and empty in others.
func (c *Credentials) TokenOfKind(kind string) (Token, bool) {
	for _, t := range c.Tokens() {
		if t.Kind == kind {
			return t, true
		}
	}
	return Token{}, false
}

// Tokens yields the aliases and tokens, ordered by alias.
func (c *Credentials) Tokens() iter.Seq2[string, Token] { return inOrder(c.tokens) }

// SetSecret stores secret under alias, and replaces an earlier secret under alias.
func (c *Credentials) SetSecret(alias string, secret []byte) {
	if c.secrets == nil {
		c.secrets = map[string][]byte{}
	}
	c.secrets[alias] = secret
}

// Secret returns the secret under alias, and reports whether there is such a secret.
func (c *Credentials) Secret(alias string) ([]byte, bool) {
	s, ok := c.secrets[alias]
	return s, ok
}

// Secrets yields the aliases and secrets, ordered by alias.
func (c *Credentials) Secrets() iter.Seq2[string, []byte] { return inOrder(c.secrets) }

// inOrder yields the entries of m, ordered by key.
func inOrder[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// String returns only the numbers of tokens and secrets.
func (c *Credentials) String() string {
	return fmt.Sprintf("credentials (%d tokens, %d secrets, withheld)", len(c.tokens), len(c.secrets))
}

// Format writes c.String() for every verb, so that no format prints a secret.
func (c *Credentials) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, c.String()) }

// LogValue returns c.String() as the value that slog logs.
func (c *Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }
