package security

import (
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"slices"
)

// Credentials is a set of tokens and secrets, each under an alias, as Hadoop
// gives them to a container. The zero value is empty and ready to use. Changes must
// not be concurrent with other use.
type Credentials struct {
	tokens  map[string]Token
	secrets map[string][]byte
}

// SetToken stores t under alias, and replaces a token there.
func (c *Credentials) SetToken(alias string, t Token) {
	if c.tokens == nil {
		c.tokens = map[string]Token{}
	}
	c.tokens[alias] = t
}

// Token returns the token under alias.
func (c *Credentials) Token(alias string) (Token, bool) {
	t, ok := c.tokens[alias]
	return t, ok
}

// TokenOfKind returns the first token of a kind, in the order of aliases.
// The alias of an AMRMToken is the ResourceManager's address in some versions and
// empty in others.
func (c *Credentials) TokenOfKind(kind string) (Token, bool) {
	for _, t := range c.Tokens() {
		if t.Kind == kind {
			return t, true
		}
	}
	return Token{}, false
}

// Tokens yields aliases and tokens in the order of aliases.
func (c *Credentials) Tokens() iter.Seq2[string, Token] { return inOrder(c.tokens) }

// SetSecret stores secret under alias, and replaces a secret there.
func (c *Credentials) SetSecret(alias string, secret []byte) {
	if c.secrets == nil {
		c.secrets = map[string][]byte{}
	}
	c.secrets[alias] = secret
}

// Secret returns the secret under alias.
func (c *Credentials) Secret(alias string) ([]byte, bool) {
	s, ok := c.secrets[alias]
	return s, ok
}

// Secrets yields aliases and secrets in the order of aliases.
func (c *Credentials) Secrets() iter.Seq2[string, []byte] { return inOrder(c.secrets) }

// inOrder yields m in the order of its keys.
func inOrder[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// String returns the numbers of tokens and secrets.
func (c *Credentials) String() string {
	return fmt.Sprintf("credentials (%d tokens, %d secrets, withheld)", len(c.tokens), len(c.secrets))
}

// Format writes String for every verb, so that no format prints a secret.
func (c *Credentials) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, c.String()) }

// LogValue logs String.
func (c *Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }
