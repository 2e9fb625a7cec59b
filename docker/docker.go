// Package docker embeds the Hadoop image's configuration, for programs that start clusters.
package docker

import "embed"

// Conf has the directory conf, which is /etc/hadoop in the image.
//
//go:embed conf
var Conf embed.FS
