package security

import (
	"fmt"
	"os"
	"os/user"
)

// UserGroup is the two users of a connection, as Hadoop's UserGroupInformation.
type UserGroup struct {
	// Effective is the user the calls act as.
	Effective string
	// Real is the authenticated user, who acts for Effective; empty if they are the
	// same.
	Real string
}

// String returns "effective" or "effective (by real)".
func (u UserGroup) String() string {
	if u.Real == "" {
		return u.Effective
	}
	return u.Effective + " (by " + u.Real + ")"
}

// CurrentUser returns this process's user on a cluster without security:
// HADOOP_USER_NAME, or the operating system's user. If HADOOP_PROXY_USER is set,
// that user acts for it.
func CurrentUser() (UserGroup, error) {
	name := os.Getenv("HADOOP_USER_NAME")
	if name == "" {
		account, err := user.Current()
		if err != nil {
			return UserGroup{}, fmt.Errorf("find this process's user (set HADOOP_USER_NAME to name one): %w", err)
		}
		name = account.Username
	}
	if proxied := os.Getenv("HADOOP_PROXY_USER"); proxied != "" && proxied != name {
		return UserGroup{Effective: proxied, Real: name}, nil
	}
	return UserGroup{Effective: name}, nil
}
