package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What containers get beside the memory and the cores of their Go program.
var (
	ExecutorOverhead = overhead("executor", ExecutorMem, "Memory that an executor's container gets on top of `executor.memory`, for what "+
		"runs beside the Go program: child processes, files on `tmpfs`, C libraries. Where not set: `executor.memory` times "+
		"`executor.memoryOverheadFactor`.")
	DriverOverhead = overhead("driver", DriverMemory, "Memory that the container of the ApplicationMaster and the driver gets on top of "+
		"`driver.memory`. Where not set: `driver.memory` times `driver.memoryOverheadFactor`.")
)

// Where containers may run, and with which claim to their resources.
var (
	ExecutorLabel = text("yarn.executor.nodeLabelExpression", "", "The node label expression of the executors: they run on nodes with that "+
		"label only. Where not set, the queue's own.")
	AMLabel = text("yarn.am.nodeLabelExpression", "", "The node label expression of the ApplicationMaster's container. Where not set, the queue's own.")
	// ExecutorExecutionType is one of the Execution constants.
	ExecutorExecutionType = oneOf("yarn.executor.executionType", ExecutionGuaranteed, "The execution type of the executors' containers: "+
		"`guaranteed`, on resources that are held for them, or `opportunistic`, which a node may queue, and ends first when others "+
		"need the room (`yarn.resourcemanager.opportunistic-container-allocation.enabled` of the cluster).",
		ExecutionGuaranteed, ExecutionOpportunistic)
)

// Execution types of containers.
const (
	ExecutionGuaranteed    = "guaranteed"
	ExecutionOpportunistic = "opportunistic"
)

// YARN's further resource types.
var (
	executorYARNResource = checkedPrefix("yarn.executor.resource.", "An amount of a further YARN resource type for each executor's container, in "+
		"the unit that the cluster has for the type: `yarn.executor.resource.yarn.io/gpu.amount=2`.", checkYARNAmount)
	driverYARNResource = checkedPrefix("yarn.driver.resource.", "As `yarn.executor.resource.`, for the container of the ApplicationMaster and the "+
		"driver (`--deploy-mode cluster`).", checkYARNAmount)
	amYARNResource = checkedPrefix("yarn.am.resource.", "As `yarn.driver.resource.`, for the ApplicationMaster's container in either deploy mode.",
		checkYARNAmount)
	executorResource = checkedPrefix("executor.resource.", "As `yarn.executor.resource.`, by the names that Spark has: "+
		"`executor.resource.gpu.amount=1` and `executor.resource.fpga.amount=1` ask for the types that `yarn.resourceGpuDeviceName` and "+
		"`yarn.resourceFpgaDeviceName` name, any other name is YARN's own. Tasks ask for them by these names (`task.resource.gpu.amount`), and "+
		"get addresses: `0`, `1` and so on, or those that the command `executor.resource.gpu.discoveryScript` prints in the executor's container, "+
		"as `{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\"]}`.", checkExecutorResource)
	driverResource = checkedPrefix("driver.resource.", "As `executor.resource.`, for the driver's container.", checkAmount)

	gpuType  = define("yarn.resourceGpuDeviceName", "yarn.io/gpu", "text", "YARN's resource type behind `executor.resource.gpu.amount`.", parseResourceType)
	fpgaType = define("yarn.resourceFpgaDeviceName", "yarn.io/fpga", "text", "YARN's resource type behind `executor.resource.fpga.amount`.", parseResourceType)
)

var _ = rule(func(c *Config) error {
	_, executor := executorResources(c)
	_, driver := amResources(c)
	return errors.Join(executor, driver)
})

// ExecutorResources are the amounts of YARN's further resource types, by type,
// that an executor's container holds; nil for none.
func ExecutorResources(c *Config) map[string]int64 {
	amounts, _ := executorResources(c) // a Config has passed the rule
	return amounts
}

// AMResources are the amounts of YARN's further resource types, by type, that
// the ApplicationMaster's container holds; nil for none.
func AMResources(c *Config) map[string]int64 {
	amounts, _ := amResources(c) // a Config has passed the rule
	return amounts
}

func executorResources(c *Config) (map[string]int64, error) {
	return gather(c, executorYARNResource, executorResource)
}

// amResources leaves the driver's out where the driver is in the client.
func amResources(c *Config) (map[string]int64, error) {
	if ClientMode(c) {
		return gather(c, amYARNResource)
	}
	return gather(c, amYARNResource, driverYARNResource, driverResource)
}

// Suffixes of the keys of resource types.
const (
	amountSuffix = ".amount"
	scriptSuffix = ".discoveryScript"
)

// ResourceScripts are the commands that print the addresses of an executor's
// resources, by the name by which tasks ask for the resource; nil for none.
func ResourceScripts(c *Config) map[string]string {
	var scripts map[string]string
	for name, script := range executorResource.In(c) {
		if name, ok := strings.CutSuffix(name, scriptSuffix); ok && script != "" {
			if scripts == nil {
				scripts = map[string]string{}
			}
			scripts[name] = script
		}
	}
	return scripts
}

// TaskResourceNames gives amounts of YARN's resource types by the names by which
// tasks ask for them.
func TaskResourceNames(c *Config, amounts map[string]int64) map[string]int64 {
	var named map[string]int64
	for kind, amount := range amounts {
		switch kind {
		case gpuType.In(c):
			kind = "gpu"
		case fpgaType.In(c):
			kind = "fpga"
		}
		if named == nil {
			named = map[string]int64{}
		}
		named[kind] = amount
	}
	return named
}

// gather puts the amounts of several families together, by YARN's types. One
// type may be named in more than one way, but not with different amounts.
func gather(c *Config, families ...Prefix) (map[string]int64, error) {
	var amounts map[string]int64
	from := map[string]string{} // the key of each amount
	for _, family := range families {
		values := family.In(c)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !strings.HasSuffix(name, amountSuffix) {
				continue
			}
			key := family.Key + name
			kind := strings.TrimSuffix(name, amountSuffix)
			if family.Key == executorResource.Key || family.Key == driverResource.Key {
				switch kind {
				case "gpu":
					kind = gpuType.In(c)
				case "fpga":
					kind = fpgaType.In(c)
				}
			}
			amount, err := parseAmount(values[name])
			if err != nil {
				return nil, err
			}
			if earlier, ok := from[kind]; ok && amounts[kind] != amount {
				return nil, fmt.Errorf("%s=%d (from %s) and %s=%d (from %s) are about the same resource type %s: set one of them",
					earlier, amounts[kind], c.Source(earlier), key, amount, c.Source(key), kind)
			}
			if amount == 0 {
				continue
			}
			if amounts == nil {
				amounts = map[string]int64{}
			}
			amounts[kind], from[kind] = amount, key
		}
	}
	return amounts, nil
}

// resourceType is how YARN lets resource types be named: "yarn.io/gpu", "licenses"
// (ResourceUtils.java of Hadoop 3).
var resourceType = regexp.MustCompile(`^([[:alnum:]]([[:alnum:].-]*[[:alnum:]])?/)?[[:alpha:]][\w.-]*$`)

func parseResourceType(s string) (string, error) {
	if !resourceType.MatchString(s) {
		return "", fmt.Errorf("%q is no resource type: it looks like yarn.io/gpu", s)
	}
	return s, nil
}

// checkYARNAmount checks what follows the prefix of YARN's resource types.
func checkYARNAmount(name, value string) error {
	switch strings.TrimSuffix(name, amountSuffix) {
	case "memory", "memory-mb":
		return errors.New("memory is set by executor.memory, driver.memory and their memoryOverhead")
	case "vcores", "cores":
		return errors.New("cores are set by executor.cores and driver.cores")
	}
	return checkAmount(name, value)
}

// checkExecutorResource checks a key below executor.resource.
func checkExecutorResource(name, value string) error {
	if kind, ok := strings.CutSuffix(name, scriptSuffix); ok {
		_, err := parseResourceType(kind)
		return err
	}
	return checkAmount(name, value)
}

func checkAmount(name, value string) error {
	kind, ok := strings.CutSuffix(name, amountSuffix)
	if !ok {
		return fmt.Errorf("the key ends in %s: write %s%s", amountSuffix, name, amountSuffix)
	}
	if _, err := parseResourceType(kind); err != nil {
		return err
	}
	_, err := parseAmount(value)
	return err
}

func parseAmount(value string) (int64, error) {
	amount, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil || amount < 0 {
		return 0, errors.New("want a whole number, in the unit that the cluster has for the resource type")
	}
	return amount, nil
}

// Overhead is memory that a container gets on top of its Go program's.
type Overhead struct {
	own    Key[*Size]
	factor Key[float64]
	memory Key[Size]
}

// overhead defines memoryOverhead and memoryOverheadFactor of the executor or
// the driver.
func overhead(of string, memory Key[Size], meaning string) Overhead {
	return Overhead{
		own: optionalSize(of+".memoryOverhead", meaning),
		factor: factor(of+".memoryOverheadFactor", "0", "The part of `"+of+".memory` that is added to it where `"+of+".memoryOverhead` is not set. "+
			"It is 0, as `"+of+".memory` is all that the Go program takes, and no least overhead is added: there is no heap to which "+
			"something comes on top, as there is in a JVM."),
		memory: memory,
	}
}

// Name is the key that sets the overhead itself.
func (o Overhead) Name() string { return o.own.Name() }

// In is the overhead on the memory that c has.
func (o Overhead) In(c *Config) Size { return o.Of(c, o.memory.In(c)) }

// Of is the overhead on another amount of memory: as set, or by the factor.
func (o Overhead) Of(c *Config, memory Size) Size {
	if own := o.own.In(c); own != nil {
		return *own
	}
	const most = 1 << 50 // more than any node has, and far from an overflow
	return Size(min(float64(memory)*o.factor.In(c), most))
}
