package protocol

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// The error of Load wraps ErrNoSecret if the settings name no certificates and no secret, and
// the file ~/.bobbin/secret does not exist.
var ErrNoSecret = errors.New("no secret of a standalone cluster was found")

// Load returns the credentials that the settings specify: certificates, or a secret from
// authenticate.secret, authenticate.secretFile or ~/.bobbin/secret. If there are neither
// certificates nor a secret, the error wraps ErrNoSecret.
func Load(settings *config.Config) (*Credentials, error) {
	return load(settings, false)
}

// LoadOrCreate is like Load, for processes that start a cluster: if there are no credentials,
// it creates ~/.bobbin/secret with mode 0600 and a random secret.
func LoadOrCreate(settings *config.Config) (*Credentials, error) {
	return load(settings, true)
}

func load(settings *config.Config, create bool) (*Credentials, error) {
	if certificate := config.SSLCertFile.In(settings); certificate != "" {
		return FromCertificates(certificate, config.SSLKeyFile.In(settings), config.SSLCAFile.In(settings))
	}
	if secret := config.AuthenticateSecret.In(settings); secret != "" {
		credentials, err := FromSecret([]byte(secret))
		if err != nil {
			return nil, fmt.Errorf("%s (from %s): %w", config.AuthenticateSecret.Name(),
				settings.Source(config.AuthenticateSecret.Name()), err)
		}
		return credentials, nil
	}
	path := config.AuthenticateSecretFile.In(settings)
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("look for the cluster's secret: %w: set %s", err, config.AuthenticateSecretFile.Name())
		}
		path = filepath.Join(home, ".bobbin", "secret")
		if create {
			if err := createSecret(path); err != nil {
				return nil, err
			}
		}
	}
	secret, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	credentials, err := FromSecret(secret)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return credentials, nil
}

func readSecret(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is not there: copy it from the master's machine, where `yarn-submit master` makes it, or set %s",
			ErrNoSecret, path, config.AuthenticateSecretFile.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("read the cluster's secret: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the cluster's secret: %w", err)
	}
	const maxBytes = 1 << 16
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the cluster's secret %s is no regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("the cluster's secret %s can be read or written by others (mode %04o): run chmod 600 %s",
			path, info.Mode().Perm(), path)
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("the cluster's secret %s has %d bytes, the most is %d", path, info.Size(), maxBytes)
	}
	secret := make([]byte, info.Size())
	n, err := file.ReadAt(secret, 0)
	if int64(n) != info.Size() {
		return nil, fmt.Errorf("read the cluster's secret %s: %w", path, err)
	}
	return secret, nil
}

// createSecret creates a file with a random secret, unless the file exists. If several
// processes call it at the same time, all of them read the same complete secret.
func createSecret(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the cluster's secret: %w", err)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), ".secret-") // of mode 0600
	if err != nil {
		return fmt.Errorf("make the cluster's secret: %w", err)
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.Write(append(NewSecret(), '\n'))
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return fmt.Errorf("make the cluster's secret: %w", err)
	}
	if err := os.Link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the cluster's secret: %w", err)
	}
	return nil
}
