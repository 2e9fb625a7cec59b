package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRecovery(t *testing.T) {
	for _, test := range []struct {
		set  map[string]string
		want string // "" for none
	}{
		{map[string]string{}, ""},
		{map[string]string{"recovery.mode": "FILESYSTEM", "recovery.directory": "/var/lib/bobbin"}, ""},
		{map[string]string{"recovery.mode": "FILESYSTEM"}, "recovery.directory"},
		{map[string]string{"recovery.mode": "filesystem"}, "recovery.mode"},
		{map[string]string{"recovery.mode": "ETCD"}, "recovery.etcd.endpoints"},
		{map[string]string{"recovery.mode": "ETCD", "recovery.etcd.endpoints": "https://a:2379"}, ""},
		{map[string]string{"recovery.etcd.lease": "1500ms"}, "whole seconds"},
		{map[string]string{"recovery.etcd.lease": "0s"}, "whole seconds"},
		{map[string]string{"recovery.etcd.ssl.certFile": "/cert.pem"}, "recovery.etcd.ssl.keyFile"},
		{map[string]string{"recovery.etcd.passwordFile": "/password"}, "recovery.etcd.user"},
	} {
		_, err := FromMap(test.set)
		if test.want == "" {
			assert.NoError(t, err, "%v", test.set)
		} else {
			assert.ErrorContains(t, err, test.want, "%v", test.set)
		}
	}
}
