package cluster

import (
	"fmt"
	"regexp"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	maxIDBytes = 128
	// maxCores and maxMemory (bytes) limit the values that workers report, so that sums do not
	// overflow.
	maxCores  = 1 << 20
	maxMemory = 1 << 50
)

// idForm is the form of valid ids. Workers use ids as names of directories, so ids must also
// match plainName in standalone/worker/directory.go.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func checkID(what, id string) error {
	if len(id) > maxIDBytes || !idForm.MatchString(id) {
		return fmt.Errorf("%q is no id of %s: want at most %d letters, digits, dots, underscores and hyphens", id, what, maxIDBytes)
	}
	return nil
}

func checkVersion(version uint32) error {
	if version != protocol.Version {
		return fmt.Errorf("it speaks version %d of the standalone protocol and this master version %d: "+
			"run the same version of bobbin everywhere", version, protocol.Version)
	}
	return nil
}

func checkSize(what string, cores uint32, memory int64) error {
	switch {
	case cores > maxCores:
		return fmt.Errorf("%s of %d cores: the most is %d", what, cores, maxCores)
	case memory < 0 || memory > maxMemory:
		return fmt.Errorf("%s of %d bytes of memory: want 0 to %d", what, memory, int64(maxMemory))
	}
	return nil
}

func checkAmounts(what string, amounts map[string]int64) error {
	for name, amount := range amounts {
		if amount < 0 {
			return fmt.Errorf("%s with %d of resource %q: want 0 or more", what, amount, name)
		}
	}
	return nil
}

func checkWorker(hello *protocol.WorkerHello) error {
	if err := checkVersion(hello.GetVersion()); err != nil {
		return err
	}
	if err := checkID("a worker", hello.GetWorkerId()); err != nil {
		return err
	}
	if hello.GetHost() == "" {
		return fmt.Errorf("worker %s names no host", hello.GetWorkerId())
	}
	if hello.GetCores() == 0 {
		return fmt.Errorf("worker %s has no cores", hello.GetWorkerId())
	}
	for _, report := range hello.GetExecutors() {
		if err := checkProfile(report.GetProfile()); err != nil {
			return fmt.Errorf("worker %s, executor %d of %s: %w", hello.GetWorkerId(), report.GetExecutorId(), report.GetApplicationId(), err)
		}
		if err := checkSize("an executor", report.GetCores(), 0); err != nil {
			return fmt.Errorf("worker %s, executor %d of %s: %w", hello.GetWorkerId(), report.GetExecutorId(), report.GetApplicationId(), err)
		}
	}
	return checkSize("a worker", hello.GetCores(), hello.GetMemory())
}

func checkProfile(profile *protocol.ExecutorProfile) error {
	if err := checkSize("an executor", profile.GetCores(), profile.GetMemory()); err != nil {
		return err
	}
	if err := checkSize("an executor's overhead", 0, profile.GetOverhead()); err != nil {
		return err
	}
	return checkAmounts("an executor", profile.GetResources())
}

func checkDriver(description *protocol.DriverDescription) error {
	if description.GetProgram().GetName() == "" {
		return fmt.Errorf("the driver %q names no program", description.GetName())
	}
	if err := checkSize("a driver", description.GetCores(), description.GetMemory()); err != nil {
		return err
	}
	return checkAmounts("a driver", description.GetResources())
}
