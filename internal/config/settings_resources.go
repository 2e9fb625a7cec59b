package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Resources of containers besides memory and cores, and resources that tasks use.
var (
	executorResource = checkedPrefix("executor.resource.", "How much of a resource each executor has, with Spark's names: "+
		"`executor.resource.gpu.amount=1` and `executor.resource.fpga.amount=1` ask for the types that `yarn.resourceGpuDeviceName` and "+
		"`yarn.resourceFpgaDeviceName` name; any other name is YARN's own. Tasks ask by the same names (`task.resource.gpu.amount`) and "+
		"get addresses: `0`, `1` and so on, or those that the command `executor.resource.gpu.discoveryScript` prints in the executor's container, "+
		"as `{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\"]}`.", checkExecutorResource)
	driverResource = checkedPrefix("driver.resource.", "As `executor.resource.`, for the driver's container.", checkAmount)
	taskResource   = checkedPrefix("task.resource.", "How much of its executor's resource each task uses: `task.resource.gpu.amount=1`, or `0.5` "+
		"if two tasks share one.", checkTaskAmount)

	executorYARNResource = checkedPrefix("yarn.executor.resource.", "How much of a YARN resource type each executor's container has, in "+
		"the cluster's unit for the type: `yarn.executor.resource.yarn.io/gpu.amount=2`.", checkYARNAmount)
	driverYARNResource = checkedPrefix("yarn.driver.resource.", "As `yarn.executor.resource.`, for the container of the ApplicationMaster and the "+
		"driver (`--deploy-mode cluster`).", checkYARNAmount)
	amYARNResource = checkedPrefix("yarn.am.resource.", "As `yarn.driver.resource.`, for the ApplicationMaster's container in either deploy mode.",
		checkYARNAmount)

	gpuType  = define("yarn.resourceGpuDeviceName", "yarn.io/gpu", "text", "YARN's resource type for `executor.resource.gpu.amount`.", parseResourceType)
	fpgaType = define("yarn.resourceFpgaDeviceName", "yarn.io/fpga", "text", "YARN's resource type for `executor.resource.fpga.amount`.", parseResourceType)
)

var _ = addRule(func(c *Config) error {
	_, executor := executorResources(c)
	_, driver := amResources(c)
	return errors.Join(executor, driver)
})

// ExecutorResources returns the amounts of YARN resource types in an executor's container, by
// type, without memory and cores. It returns nil if there are none.
func ExecutorResources(c *Config) map[string]int64 {
	amounts, _ := executorResources(c) // cannot fail, because Load has checked the amounts
	return amounts
}

// AMResources returns the amounts of YARN resource types in the ApplicationMaster's container,
// by type, without memory and cores. It returns nil if there are none.
func AMResources(c *Config) map[string]int64 {
	amounts, _ := amResources(c) // cannot fail, because Load has checked the amounts
	return amounts
}

func executorResources(c *Config) (map[string]int64, error) {
	return mergeAmounts(c, executorYARNResource, executorResource)
}

// amResources returns the amounts that AMResources returns, and the error of mergeAmounts.
// Except in client mode, they include the amounts for the driver, which runs in the same
// container.
func amResources(c *Config) (map[string]int64, error) {
	if ClientMode(c) {
		return mergeAmounts(c, amYARNResource)
	}
	return mergeAmounts(c, amYARNResource, driverYARNResource, driverResource)
}

// Suffixes of the keys for resources.
const (
	amountSuffix = ".amount"
	scriptSuffix = ".discoveryScript"
)

// ResourceScripts returns the discovery scripts of executors: the commands that print the
// addresses of a resource, by the resource's name for tasks, such as "gpu". It returns nil if
// there are none.
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

// TaskResourceNames converts amounts by YARN resource type, such as "yarn.io/gpu", to amounts
// by the resources' names for tasks, such as "gpu".
func TaskResourceNames(c *Config, amounts map[string]int64) map[string]int64 {
	var named map[string]int64
	for typ, amount := range amounts {
		switch typ {
		case gpuType.In(c):
			typ = "gpu"
		case fpgaType.In(c):
			typ = "fpga"
		}
		if named == nil {
			named = map[string]int64{}
		}
		named[typ] = amount
	}
	return named
}

// mergeAmounts returns the amounts that are set by the keys of all the given families, by YARN
// resource type. It fails if two keys set different amounts of one type.
func mergeAmounts(c *Config, families ...Prefix) (map[string]int64, error) {
	var amounts map[string]int64
	keys := map[string]string{} // for each amount, the key that sets it
	for _, family := range families {
		values := family.In(c)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !strings.HasSuffix(name, amountSuffix) {
				continue
			}
			key := family.Key + name
			typ := strings.TrimSuffix(name, amountSuffix)
			if family.Key == executorResource.Key || family.Key == driverResource.Key {
				switch typ {
				case "gpu":
					typ = gpuType.In(c)
				case "fpga":
					typ = fpgaType.In(c)
				}
			}
			amount, err := parseAmount(values[name])
			if err != nil {
				return nil, err
			}
			if earlier, ok := keys[typ]; ok && amounts[typ] != amount {
				return nil, fmt.Errorf("%s=%d (from %s) and %s=%d (from %s) are about the same resource type %s: set one of them",
					earlier, amounts[typ], c.Source(earlier), key, amount, c.Source(key), typ)
			}
			if amount == 0 {
				continue
			}
			if amounts == nil {
				amounts = map[string]int64{}
			}
			amounts[typ], keys[typ] = amount, key
		}
	}
	return amounts, nil
}

// resourceType matches the names that YARN allows for resource types, such as
// "yarn.io/gpu" and "licenses" (ResourceUtils.java of Hadoop 3).
var resourceType = regexp.MustCompile(`^([[:alnum:]]([[:alnum:].-]*[[:alnum:]])?/)?[[:alpha:]][\w.-]*$`)

func parseResourceType(s string) (string, error) {
	if !resourceType.MatchString(s) {
		return "", fmt.Errorf("%q is no resource type: it looks like yarn.io/gpu", s)
	}
	return s, nil
}

// checkYARNAmount checks the name of a YARN resource type and its amount. name is the part of
// the key after the family's prefix.
func checkYARNAmount(name, value string) error {
	switch strings.TrimSuffix(name, amountSuffix) {
	case "memory", "memory-mb":
		return errors.New("memory is set by executor.memory, driver.memory and their memoryOverhead")
	case "vcores", "cores":
		return errors.New("cores are set by executor.cores and driver.cores")
	}
	return checkAmount(name, value)
}

// checkExecutorResource checks a key that begins with "executor.resource." or
// "worker.resource.", and its value. name is the part of the key after this prefix.
func checkExecutorResource(name, value string) error {
	if typ, ok := strings.CutSuffix(name, scriptSuffix); ok {
		_, err := parseResourceType(typ)
		return err
	}
	return checkAmount(name, value)
}

func checkAmount(name, value string) error {
	typ, ok := strings.CutSuffix(name, amountSuffix)
	if !ok {
		return fmt.Errorf("the key ends in %s: write %s%s", amountSuffix, name, amountSuffix)
	}
	if _, err := parseResourceType(typ); err != nil {
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

// TaskResources returns the amount of each resource of its executor that a task uses, by the
// name of the resource. It returns nil if a task uses none.
func TaskResources(c *Config) map[string]float64 {
	var amounts map[string]float64
	for name, value := range taskResource.In(c) {
		amount, err := strconv.ParseFloat(value, 64)
		if err != nil || amount == 0 {
			continue // the amount is 0: Load has rejected invalid amounts
		}
		if amounts == nil {
			amounts = map[string]float64{}
		}
		amounts[strings.TrimSuffix(name, amountSuffix)] = amount
	}
	return amounts
}

// checkTaskAmount checks a key that begins with "task.resource.", and its value. name is the
// part of the key after this prefix.
func checkTaskAmount(name, value string) error {
	resource, ok := strings.CutSuffix(name, amountSuffix)
	if !ok || resource == "" || strings.Contains(resource, ".") {
		return fmt.Errorf("want task.resource.NAME%s", amountSuffix)
	}
	amount, err := strconv.ParseFloat(value, 64)
	if err != nil || !(amount >= 0) || amount > math.MaxInt32 || amount > 1 && amount != math.Trunc(amount) {
		return fmt.Errorf("want a whole number, or a part of 1 such as 0.5")
	}
	return nil
}
