package main

import (
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// driveInPlace puts the program in this process's place to run in client mode:
// it submits itself, and its driver function runs here.
func driveInPlace(t terminal, s submission) error {
	if err := client.CheckDriver(s.program); err != nil {
		return err
	}
	properties := s.settings.Map()
	properties[config.Master.Name()] = "yarn"
	environment, err := handOver(properties)
	if err != nil {
		return client.Usage(err)
	}
	if s.json {
		environment = append(environment, launch.EnvReport+"=json")
	}
	return replace(t, s.program, append([]string{s.program}, s.args...), environment)
}
