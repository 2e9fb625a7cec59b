// Package open opens the store that the settings select. It imports the packages of all stores
// and their libraries.
package open

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/bolt"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/etcd"
)

// Open opens the store that recovery.mode selects. It fails if another master has locked the
// directory, or if etcd does not answer.
func Open(ctx context.Context, settings *config.Config, logger *slog.Logger) (recovery.Backend, error) {
	switch config.RecoveryMode.In(settings) {
	case config.RecoveryFilesystem:
		return bolt.Open(config.RecoveryDirectory.In(settings))
	case config.RecoveryEtcd:
		options, err := etcdOptions(settings)
		if err != nil {
			return nil, err
		}
		options.Logger = logger
		return etcd.Open(ctx, options)
	}
	return recovery.Memory(), nil
}

func etcdOptions(settings *config.Config) (etcd.Options, error) {
	options := etcd.Options{
		Endpoints: config.RecoveryEtcdEndpoints.In(settings),
		Directory: config.RecoveryEtcdDirectory.In(settings),
		Username:  config.RecoveryEtcdUser.In(settings),
		Lease:     config.RecoveryEtcdLease.In(settings),
		Timeout:   config.RecoveryEtcdTimeout.In(settings),
	}
	if path := config.RecoveryEtcdPasswordFile.In(settings); path != "" {
		password, err := os.ReadFile(path)
		if err != nil {
			return etcd.Options{}, fmt.Errorf("%s: %w", config.RecoveryEtcdPasswordFile.Name(), err)
		}
		if options.Password = strings.TrimRight(string(password), "\r\n"); options.Password == "" {
			return etcd.Options{}, fmt.Errorf("%s: %s is empty", config.RecoveryEtcdPasswordFile.Name(), path)
		}
	}
	var err error
	options.TLS, err = tlsConfig(config.RecoveryEtcdCAFile.In(settings), config.RecoveryEtcdCertFile.In(settings), config.RecoveryEtcdKeyFile.In(settings))
	return options, err
}

// tlsConfig returns the TLS configuration for etcd, or nil if caFile and certFile are "".
func tlsConfig(caFile, certFile, keyFile string) (*tls.Config, error) {
	if caFile == "" && certFile == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		authorities, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", config.RecoveryEtcdCAFile.Name(), err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("%s: %s holds no certificate in PEM", config.RecoveryEtcdCAFile.Name(), caFile)
		}
	}
	if certFile != "" {
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certFile, keyFile)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", config.RecoveryEtcdCertFile.Name(), config.RecoveryEtcdKeyFile.Name(), err)
			}
			return &pair, nil
		}
		if _, err := load(); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return c, nil
}
