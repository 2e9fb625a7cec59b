// Package docker embeds the configuration files of the Hadoop image for programs that start
// clusters.
package docker

import "embed"

// Conf contains the directory conf, which is installed in the image as /etc/hadoop.
//
//go:embed conf
var Conf embed.FS
