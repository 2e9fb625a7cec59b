// Package docker embeds the configuration of the Hadoop image, for programs that
// start clusters of it.
package docker

import "embed"

// Conf has the directory conf, which is /etc/hadoop in the image.
//
//go:embed conf
var Conf embed.FS
