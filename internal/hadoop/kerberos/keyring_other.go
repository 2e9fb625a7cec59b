//go:build !linux

package kerberos

import "fmt"

// readKeyring fails, because only Linux has keyrings.
func readKeyring(string) ([]byte, error) {
	return nil, fmt.Errorf("only Linux keeps tickets in keyrings: export %s=FILE:$HOME/.krb5cc and run kinit", cacheVariable)
}
