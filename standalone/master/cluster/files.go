package cluster

import "github.com/bobbin-yarn/bobbin/standalone/protocol"

// Files are the hashes of all contents that workers may still ask for.
func (c *Cluster) Files() map[string]bool {
	hashes := map[string]bool{}
	add := func(program *protocol.File, files []*protocol.File) {
		if program != nil {
			hashes[string(program.GetSha256())] = true
		}
		for _, file := range files {
			hashes[string(file.GetSha256())] = true
		}
	}
	for _, a := range c.applications {
		add(a.description.GetCommand().GetProgram(), a.description.GetCommand().GetFiles())
	}
	for _, d := range c.drivers {
		add(d.description.GetProgram(), d.description.GetFiles())
	}
	return hashes
}
