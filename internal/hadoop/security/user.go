package security

import (
	"fmt"
	"os"
	"os/user"
)

// UserGroup is the user who makes calls and the user on whose behalf they are made, as in
// Hadoop's UserGroupInformation.
type UserGroup struct {
	Effective string // user on whose behalf the calls are made
	Real      string // user who makes the calls; "" if Effective makes them
}

// String returns "effective" or "effective (by real)".
func (u UserGroup) String() string {
	if u.Real == "" {
		return u.Effective
	}
	return u.Effective + " (by " + u.Real + ")"
}

// CurrentUser returns the user of this process on a cluster without Kerberos: the name in
// HADOOP_USER_NAME, or else the operating system's user. If HADOOP_PROXY_USER names a different
// user, Effective is the user in HADOOP_PROXY_USER, and the user of this process is Real.
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
