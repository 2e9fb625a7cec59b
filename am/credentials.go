package am

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/storage"
)

// login logs in to Kerberos if the application has a keytab. Without a keytab, it returns nil.
func (a *Attempt) login(ctx context.Context) (*kerberos.Client, error) {
	if a.Spec.Login == nil {
		return nil, nil
	}
	login, err := kerberos.Open(ctx, kerberos.Options{Principal: a.Spec.Login.Principal, Keytab: launch.KeytabFile})
	if err != nil {
		return nil, fmt.Errorf("the ApplicationMaster on %s cannot log in to Kerberos (nodes need krb5.conf, see yarn.appMasterEnv.KRB5_CONFIG): %w", a.Host, err)
	}
	return login, nil
}

// storageOptions returns options for file systems. Without a login, they contain the submission's
// tokens.
func (a *Attempt) storageOptions(login *kerberos.Client) storage.Options {
	options := storage.Options{Hadoop: a.Hadoop, User: a.Spec.User, Kerberos: login, Logger: a.Logger}
	if login == nil {
		options.Tokens = a.credentials
	}
	return options
}

// obtainTokens obtains the attempt's first delegation tokens with the login, because after an
// earlier attempt the submission's tokens may have expired. obtainTokens returns nil if login is
// nil.
func (m *applicationMaster) obtainTokens(ctx context.Context, login *kerberos.Client) (*storage.Tokens, error) {
	if login == nil {
		return nil, nil
	}
	m.renewal = &storage.Renewal{
		Files: m.Files, FileSystems: m.Spec.Login.FileSystems, Principal: m.Spec.Login.Principal, Logger: m.Logger,
	}
	tokens, err := m.renewal.Obtain(ctx)
	if err != nil {
		return nil, fmt.Errorf("the ApplicationMaster cannot get delegation tokens: %w", err)
	}
	return tokens, nil
}

// keepTokens sends the current tokens to the executors. Until ctx ends, it also obtains and sends
// new tokens before the executors' tokens expire.
func (m *applicationMaster) keepTokens(ctx context.Context, current *storage.Tokens) {
	if current == nil {
		return
	}
	m.publishTokens(current.Credentials)
	m.renewal.Run(ctx, current, m.publishTokens)
}

// publishTokens sends new tokens to the executors, and prepares launch contexts with these tokens
// for later executors.
func (m *applicationMaster) publishTokens(tokens *security.Credentials) {
	encoded, err := tokens.Encode(security.Writable)
	if err == nil {
		err = m.contexts.renew(tokens)
	}
	if err != nil {
		m.Logger.Error("new delegation tokens cannot be encoded", "error", err)
		return
	}
	m.driver.SetCredentials(encoded)
}

// receiveTokens replaces the tokens of this process, and of executors that are started later, by
// tokens that a driver in another process has sent.
func (m *applicationMaster) receiveTokens(encoded []byte) error {
	tokens, err := security.ReadCredentials(bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	m.Files.SetTokens(tokens)
	return m.contexts.renew(tokens)
}

// hdfsTokens yields the aliases and tokens of file systems in credentials, which may be nil.
func hdfsTokens(credentials *security.Credentials) iter.Seq2[string, security.Token] {
	return func(yield func(string, security.Token) bool) {
		if credentials == nil {
			return
		}
		for alias, token := range credentials.Tokens() {
			if token.Kind == security.KindHDFS && !yield(alias, token) {
				return
			}
		}
	}
}
