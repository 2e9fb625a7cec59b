// Package yarn is a client of YARN's RPC protocols. For an ApplicationMaster, AMClient
// calls the ResourceManager (ApplicationMasterProtocol) and NodeClient calls NodeManagers
// (ContainerManagementProtocol). RMClient makes the calls of ApplicationClientProtocol
// that the REST API cannot replace.
//
// The package has its own Go types for requests and responses. Numbers and names in
// them are those of Hadoop 3.3 to 3.5.
package yarn
