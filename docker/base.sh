#!/usr/bin/env bash
# Makes a Debian base image with Java and a KDC for docker/Dockerfile where no registry of
# images can be reached: debootstrap takes packages from wherever this machine's
# apt does. Needs root, debootstrap, and Docker.
#
# Usage: docker/base.sh IMAGE
set -euo pipefail
image=${1:?usage: docker/base.sh IMAGE}
release=bookworm

command -v debootstrap >/dev/null || { echo "base.sh: install debootstrap first" >&2; exit 1; }
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $release" | sort -u | head -n 1)
[ -n "$archive" ] || archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | sort -u | head -n 1)
[ -n "$archive" ] || { echo "base.sh: apt knows no Debian archive here: run apt-get update on a Debian, or name an image with BASE=" >&2; exit 1; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
log=$root.log
if ! debootstrap --variant=minbase --include=openjdk-17-jre-headless,libfaketime,krb5-kdc "$release" "$root" "$archive" >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	exit 1
fi
rm -rf "$log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/etc/apt/sources.list \
	"$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/*
tar -C "$root" --one-file-system -c . | docker import - "$image"
