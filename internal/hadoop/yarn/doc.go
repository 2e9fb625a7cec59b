// Package yarn speaks the two protocols of a YARN ApplicationMaster:
// ApplicationMasterProtocol with the ResourceManager (AMClient) and
// ContainerManagementProtocol with NodeManagers (NodeClient); and of
// ApplicationClientProtocol the call by which an unmanaged ApplicationMaster
// gets its token (RMClient).
//
// It defines Go types for the requests and answers. What to ask for, and how to react
// to an answer, is decided by the caller.
// Numbers and names of the protocol are those of Hadoop 3.3 to 3.5.
package yarn
