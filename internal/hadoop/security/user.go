package security

import (
	"fmt"
	"os"
	"os/user"
)

// UserGroup names the two users of a connection, as Hadoop's
// UserGroupInformation does.
type UserGroup struct {
	// Effective is the user the calls act as.
	Effective string
	// Real is the user who authenticated and acts for Effective, empty if
	// they are the same.
	Real string
}

// String returns "effective" or "effective (by real)".
func (u UserGroup) String() string {
	if u.Real == "" {
		return u.Effective
	}
	return u.Effective + " (by " + u.Real + ")"
}

// CurrentUser returns the user that Hadoop takes this process to be where
// security is off: HADOOP_USER_NAME, otherwise the operating system's user;
// HADOOP_PROXY_USER, where set, becomes the effective user on whose behalf
// that one acts.
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
