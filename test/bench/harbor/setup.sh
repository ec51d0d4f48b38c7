#!/bin/sh
# Installs podman on Debian (as root) and makes the image localhost/ajet-base:1, from which the tasks of this folder are built. Prints the variable that
# podman needs on machines with hybrid control groups and without CAP_SYS_RESOURCE: eval "$(sh test/bench/harbor/setup.sh)"
set -e
here=${AJET_BOXES:-$HOME/.cache/agentjet-boxes}
mkdir -p "$here"
for program in podman runc debootstrap; do
  command -v $program > /dev/null || apt-get install -y podman runc debootstrap >&2
done
cat > "$here/containers.conf" << 'END'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
END
export CONTAINERS_CONF="$here/containers.conf"
if ! podman image exists localhost/ajet-base:1; then
  [ -e "$here/rootfs/bin/sh" ] || debootstrap --variant=minbase --include=python3-minimal,procps bookworm "$here/rootfs" >&2
  tar -C "$here/rootfs" -c . | podman import - localhost/ajet-base:1 >&2
fi
echo "export CONTAINERS_CONF=$here/containers.conf"
