# A real Hadoop cluster on this machine; needs Java 17 and Maven.
CLUSTER_DIR ?= .cluster
CLUSTER = go run ./integration/cmd/cluster -dir $(CLUSTER_DIR) $(if $(HADOOP_VERSION),-hadoop $(HADOOP_VERSION))

.PHONY: cluster-up cluster-down cluster-status

# Prints the line that points a shell to the cluster: eval "$$(make cluster-up)"
cluster-up:
	@$(CLUSTER) up

cluster-down:
	@$(CLUSTER) down

cluster-status:
	@$(CLUSTER) status
