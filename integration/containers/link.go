package containers

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Disconnect disconnects the host from the network: packets to and from the host are lost. Its
// connections stay open.
func (h *Host) Disconnect(ctx context.Context) error { return h.setLink(ctx, false) }

// Reconnect connects the host to the network after Disconnect.
func (h *Host) Reconnect(ctx context.Context) error { return h.setLink(ctx, true) }

// setLink sets the host's network interface up or down. It enters the host's network namespace,
// which requires root.
func (h *Host) setLink(ctx context.Context, up bool) error {
	pid, err := h.pid(ctx)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		// This thread enters the host's network namespace and must not run other goroutines
		// afterwards. The goroutine does not unlock the thread, so the Go runtime ends the
		// thread with the goroutine.
		runtime.LockOSThread()
		done <- setLink(fmt.Sprintf("/proc/%d/ns/net", pid), "eth0", up)
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("the network of %s: %w", h.Name, err)
	}
	return nil
}

func setLink(namespace, name string, up bool) (err error) {
	ns, err := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(ns)) }()
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering its namespace, which takes root: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(socket)) }()
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	flags := request.Uint16() &^ unix.IFF_UP
	if up {
		flags |= unix.IFF_UP
	}
	request.SetUint16(flags)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
