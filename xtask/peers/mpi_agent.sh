#!/usr/bin/env bash
# OpenMPI's way to a host, where hosts are nodes of cluster/local.sh: called as rsh would be, `mpi_agent.sh ADDRESS COMMAND…`.
set -euo pipefail
host="${1##*.}"
shift
exec "$(dirname "${BASH_SOURCE[0]}")/../../cluster/local.sh" exec "n$host" bash -c "$*"
