package yarntest

import (
	"net/http"
)

func (n *Node) servePages(response http.ResponseWriter, request *http.Request) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws/v1/node/containers", func(w http.ResponseWriter, _ *http.Request) {
		containers := []map[string]any{}
		for _, k := range sorted(n.local) {
			containers = append(containers, n.pageOf(k))
		}
		answer(w, http.StatusOK, map[string]any{"containers": map[string]any{"container": containers}})
	})
	mux.HandleFunc("GET /ws/v1/node/containers/{id}", func(w http.ResponseWriter, r *http.Request) {
		for id, k := range n.local {
			if id.String() == r.PathValue("id") {
				answer(w, http.StatusOK, map[string]any{"container": n.pageOf(k)})
				return
			}
		}
		refuse(w, http.StatusNotFound, notFoundClass, "container with id, "+r.PathValue("id")+", not found")
	})
	mux.ServeHTTP(response, request)
}

func (n *Node) pageOf(k *container) map[string]any {
	state := map[process]string{localizing: "LOCALIZING", running: "RUNNING", exited: "DONE"}[k.process]
	return map[string]any{
		"id": k.id.String(), "state": state, "exitCode": int32(k.exit), "diagnostics": k.diagnostics, "user": k.attempt.app.User,
		"totalMemoryNeededMB": k.resource.MemoryMB, "totalVCoresNeeded": k.resource.VCores, "nodeId": n.id.String(),
	}
}
