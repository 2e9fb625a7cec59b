// Package yarn is a client of YARN's RPC protocols. For an ApplicationMaster, AMClient calls
// the ResourceManager (ApplicationMasterProtocol) and NodeClient calls NodeManagers
// (ContainerManagementProtocol). RMClient makes those calls of ApplicationClientProtocol that
// the REST API cannot replace.
//
// The package has its own Go types for requests and responses. Their numeric values and names
// are those of Hadoop 3.3 to 3.5.
package yarn
