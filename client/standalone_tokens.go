package client

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage"
)

// As on YARN, the processes of a standalone cluster access file systems with delegation tokens. But
// a standalone cluster has no ResourceManager that renews the tokens.

// Renewal returns a Renewal that obtains delegation tokens for other processes. The tokens are for
// the default file system, those in kerberos.access.hadoopFileSystems and those of event logs.
// Renewal returns nil if the user has not logged in to Kerberos, or already has tokens. In the latter case,
// the other processes use the tokens that [Identity.FileSystemTokens] returns.
func (i *Identity) Renewal(files *storage.Files, hadoop *conf.Config, settings *config.Config, logger *slog.Logger) (*storage.Renewal, error) {
	if i.kerberos == nil || i.tokens != nil {
		return nil, nil
	}
	renewal := &storage.Renewal{Files: files, Principal: i.kerberos.Principal(), Logger: logger}
	if i.real != "" {
		renewal.Principal = i.User // the NameNode compares the renewer with the name of the impersonated user
	}
	var err error
	renewal.FileSystems, err = fileSystems(files, hadoop, settings)
	return renewal, err
}

// FileSystemTokens returns the tokens for file systems in the file HADOOP_TOKEN_FILE_LOCATION.
func (i *Identity) FileSystemTokens() *security.Credentials {
	tokens := &security.Credentials{}
	if i.tokens != nil {
		for alias, token := range i.tokens.Tokens() {
			if token.Kind == security.KindHDFS {
				tokens.SetToken(alias, token)
			}
		}
	}
	return tokens
}

// DriverTokens obtains delegation tokens for a driver that runs on another host. encoded has the
// format of a Hadoop credentials file. end is the time at which the tokens expire; zero if it is
// unknown. encoded is nil if the driver needs no tokens, because the cluster does not use Kerberos
// or because the driver logs in with a keytab on its host.
func DriverTokens(ctx context.Context, settings *config.Config, logger *slog.Logger) (encoded []byte, end time.Time, err error) {
	hadoop, err := HadoopConfig(settings)
	if err != nil {
		return nil, end, UsageError(err)
	}
	if hadoop == nil || !hadoop.SecurityEnabled() || config.KerberosKeytab.In(settings) != "" {
		return nil, end, nil
	}
	identity, err := Login(hadoop, settings)
	if err != nil {
		return nil, end, err
	}
	defer identity.Close()
	files := storage.New(identity.Storage(storage.Options{Hadoop: hadoop, Logger: logger}))
	defer func() { err = errors.Join(err, files.Close()) }()
	renewal, err := identity.Renewal(files, hadoop, settings, logger)
	if err != nil {
		return nil, end, err
	}
	tokens := identity.FileSystemTokens()
	if renewal != nil {
		obtained, err := renewal.Obtain(ctx)
		if err != nil {
			return nil, end, RefusedError(&examinableError{identity.explainProxy(err)})
		}
		if obtained == nil {
			return nil, end, nil // no file system issues tokens
		}
		tokens, end = obtained.Credentials, obtained.End
	}
	encoded, err = tokens.Encode(security.Writable)
	return encoded, end, err
}
