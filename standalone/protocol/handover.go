package protocol

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Hand writes the credentials to files of mode 0600 in a directory that is
// there, for a process that is started on this machine, and returns the
// settings under which Load finds them.
func (c *Credentials) Hand(dir string) (map[string]string, error) {
	contents := map[string][]byte{config.AuthenticateSecretFile.Name(): c.secret}
	names := map[string]string{config.AuthenticateSecretFile.Name(): "secret"}
	if c.files != nil {
		contents = map[string][]byte{
			config.SSLCertFile.Name(): c.files.certificate,
			config.SSLKeyFile.Name():  c.files.key,
			config.SSLCAFile.Name():   c.files.authority,
		}
		names = map[string]string{
			config.SSLCertFile.Name(): "certificate.pem",
			config.SSLKeyFile.Name():  "key.pem",
			config.SSLCAFile.Name():   "authority.pem",
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("hand over the cluster's credentials: %w", err)
	}
	settings := map[string]string{}
	for key, content := range contents {
		path := filepath.Join(dir, names[key])
		if err := writePrivate(path, content); err != nil {
			return nil, fmt.Errorf("hand over the cluster's credentials: %w", err)
		}
		settings[key] = path
	}
	return settings, nil
}

func writePrivate(path string, content []byte) error {
	// Removed first: an old file's mode would stay.
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
