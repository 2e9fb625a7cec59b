package client

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Like those on YARN, the processes of a standalone cluster access file systems with
// delegation tokens. But here no ResourceManager renews the tokens.

// Renewal returns a Renewal that gets delegation tokens for other processes: tokens of the
// default file system and of those in kerberos.access.hadoopFileSystems. It returns nil if
// the user has not logged in to Kerberos. It also returns nil if the user has tokens
// already; the other processes then use these (FileSystemTokens).
func (i *Identity) Renewal(files *storage.Files, hadoop *conf.Config, settings *config.Config, logger *slog.Logger) *storage.Renewal {
	if i.kerberos == nil || i.tokens != nil {
		return nil
	}
	renewal := &storage.Renewal{Files: files, Principal: i.kerberos.Principal(), Logger: logger}
	if i.real != "" {
		renewal.Principal = i.User // a NameNode compares the renewer with this name
	}
	for _, uri := range append([]string{hadoop.DefaultFS()}, config.KerberosFileSystems.In(settings)...) {
		renewal.FileSystems = append(renewal.FileSystems, strings.TrimRight(uri, "/")+"/")
	}
	return renewal
}

// FileSystemTokens returns the tokens in the file HADOOP_TOKEN_FILE_LOCATION that are for
// file systems.
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

// DriverTokens gets delegation tokens for a driver that runs on another host. It returns
// them in the format of Hadoop's credentials files, with the time at which they end; zero if
// that is not known. It returns nil if the driver needs no tokens, because there is no
// Kerberos or because the driver logs in with a keytab on its host.
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
	tokens := identity.FileSystemTokens()
	if renewal := identity.Renewal(files, hadoop, settings, logger); renewal != nil {
		obtained, err := renewal.Obtain(ctx)
		if err != nil {
			return nil, end, RefusedError(&examinableError{identity.explainProxy(err)})
		}
		if obtained == nil {
			return nil, end, nil // no file system has tokens
		}
		tokens, end = obtained.Credentials, obtained.End
	}
	encoded, err = tokens.Encode(security.Writable)
	return encoded, end, err
}
