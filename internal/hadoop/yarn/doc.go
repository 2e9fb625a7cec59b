// Package yarn speaks the two protocols of a YARN ApplicationMaster:
// ApplicationMasterProtocol with the ResourceManager (AMClient) and
// ContainerManagementProtocol with NodeManagers (NodeClient); and of
// ApplicationClientProtocol the call by which an unmanaged ApplicationMaster
// gets its token (RMClient).
//
// It knows what the daemons accept and say, in types of its own, and nothing
// of policy: what to ask for, and what to do about an answer, is the caller's.
// Numbers and names of the protocol are those of Hadoop 3.3 to 3.5.
package yarn
