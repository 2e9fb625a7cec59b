package master

import (
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// The metrics of a master. A standby has only the first.
var (
	leadership      = metrics.Family{Name: "bobbin_master_leads", Type: metrics.Gauge, Help: "1 if the master leads the cluster, else 0."}
	workerCount     = metrics.Family{Name: "bobbin_master_workers", Type: metrics.Gauge, Help: "Workers, by state.", Labels: []string{"state"}}
	clusterCores    = metrics.Family{Name: "bobbin_master_cores", Type: metrics.Gauge, Help: "Cores of the workers that are not dead."}
	coresUsed       = metrics.Family{Name: "bobbin_master_used_cores", Type: metrics.Gauge, Help: "Cores that executors and drivers have."}
	clusterMemory   = metrics.Family{Name: "bobbin_master_memory_bytes", Type: metrics.Gauge, Help: "Memory of the workers that are not dead."}
	memoryUsed      = metrics.Family{Name: "bobbin_master_used_memory_bytes", Type: metrics.Gauge, Help: "Memory that executors and drivers have."}
	applications    = metrics.Family{Name: "bobbin_master_applications", Type: metrics.Gauge, Help: "Applications that have not ended."}
	applicationWait = metrics.Family{Name: "bobbin_master_waiting_applications", Type: metrics.Gauge, Help: "Applications that have no executor."}
	drivers         = metrics.Family{Name: "bobbin_master_drivers", Type: metrics.Gauge, Help: "Submitted drivers that have not ended, by state.", Labels: []string{"state"}}
)

// MetricFamilies are the metrics of a master.
var MetricFamilies = []*metrics.Family{
	&leadership, &workerCount, &clusterCores, &coresUsed, &clusterMemory, &memoryUsed, &applications, &applicationWait, &drivers,
}

// addMetrics adds the metrics of the master.
func (s *Status) addMetrics(set *metrics.Set) {
	if s.Leader != "" || s.Phase == cluster.Standby {
		set.Add(&leadership, 0)
		return
	}
	set.Add(&leadership, 1)
	states := metrics.Counts{}
	for _, worker := range s.Workers {
		states[worker.State]++
	}
	set.AddCounts(&workerCount, states)
	set.Add(&clusterCores, float64(s.Cores))
	set.Add(&coresUsed, float64(s.CoresUsed))
	set.Add(&clusterMemory, float64(s.Memory))
	set.Add(&memoryUsed, float64(s.MemoryUsed))
	set.Add(&applications, float64(len(s.Applications)))
	set.Add(&applicationWait, float64(s.WaitingApplications))
	states = metrics.Counts{}
	for _, driver := range s.Drivers {
		states[driver.State]++
	}
	set.AddCounts(&drivers, states)
}
