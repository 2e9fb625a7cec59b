// Package yarn speaks the two protocols of a YARN ApplicationMaster:
// ApplicationMasterProtocol with the ResourceManager (AMClient) and
// ContainerManagementProtocol with NodeManagers (NodeClient). RMClient has those calls
// of ApplicationClientProtocol that REST cannot replace.
//
// The package defines Go types for the requests and answers. Numbers and names of the
// protocols are those of Hadoop 3.3 to 3.5.
package yarn
