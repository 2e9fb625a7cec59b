package protocol

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Hand gives the credentials to a process of the same user that is started on
// this machine, and returns the settings under which Load finds them: the key that
// was derived from a secret in a file of mode 0600 in a directory that is there,
// certificates where they are, so that they are renewed there too.
func (c *Credentials) Hand(dir string) (map[string]string, error) {
	if c.files != nil {
		return map[string]string{
			config.SSLCertFile.Name(): c.files.certificate, config.SSLKeyFile.Name(): c.files.key, config.SSLCAFile.Name(): c.files.authority,
		}, nil
	}
	path, err := filepath.Abs(filepath.Join(dir, "secret"))
	if err == nil {
		err = writePrivate(path, secretOf(c.private.Seed()))
	}
	if err != nil {
		return nil, fmt.Errorf("hand over the cluster's credentials: %w", err)
	}
	return map[string]string{config.AuthenticateSecretFile.Name(): path}, nil
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
