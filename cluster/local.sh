#!/usr/bin/env bash
# A cluster of several nodes on this machine, to try things out: each node is a network namespace of its own with a
# daemon in it, all on one bridge, as machines on one switch. The bridge is in a namespace too: the machine's own
# network, its firewall and its addresses are neither used nor changed.
set -euo pipefail

readonly NAME="${DAE_LOCAL_NAME:-local}" # of the cluster; another name gives a second one beside the first
readonly DEADLINE_S="${DAE_LOCAL_DEADLINE_S:-30}"
readonly MOST=64
readonly PREFIX="dae-$NAME"
readonly LAN="$PREFIX-lan"
readonly STATE="${TMPDIR:-/tmp}/$PREFIX-$UID"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly root

usage() {
    cat <<USAGE
usage: cluster/local.sh up N            start N nodes (1 to $MOST) and wait until each sees all
       cluster/local.sh status          what runs
       cluster/local.sh exec NODE CMD…  run a command where that node is: exec n1 ping -c1 10.87.0.2
       cluster/local.sh down            end all of it; nothing is left

Node i is called n<i>, its interface eth0, its addresses 10.87.0.<i> and fdda:e087::<i>. From outside,
\`dae-node nodes --cluster $NAME\` works as on any machine. It takes root and iproute2.

environment: DAE_NODE               the program [default: dae-node in the clone's target/release]
             DAE_LOCAL_NAME         the cluster's name [$NAME]
             DAE_LOCAL_DEADLINE_S   how long \`up\` waits [$DEADLINE_S]
             DAE_LOCAL_JOIN         more options of \`dae-node join\`, separated by blanks
USAGE
}

say() { printf '%s\n' "$*" >&2; }
die() {
    say "error: $*"
    exit 1
}

# The folder says which processes to end, so nobody else may have made it.
check_state() {
    [ ! -e "$STATE" ] && [ ! -L "$STATE" ] && return
    [ ! -L "$STATE" ] && [ -d "$STATE" ] && [ -O "$STATE" ] ||
        die "$STATE is not a folder of this user's: look who made it, and remove it or set TMPDIR to another place"
}

check_tools() {
    command -v ip >/dev/null || die "there is no \`ip\`: install iproute2 (apt-get install iproute2)"
    [ "$EUID" -eq 0 ] || die "network namespaces take root: run it with sudo"
}

find_program() {
    program="${DAE_NODE:-${CARGO_TARGET_DIR:-$root/target}/release/dae-node}"
    [ -x "$program" ] || die "$program is missing: run \`cargo xtask build\`"
}

# When a process was started, which tells it from a later one with its number; nothing for one that has ended.
started() {
    local state rest
    # What stands behind the name: state, parent, …, and the start as the 20th.
    read -r state rest < <(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) || return 0
    if [ "$state" != Z ]; then cut -d' ' -f19 <<<"$rest"; fi
}

# Is the daemon of this node still the process that was started?
alive() {
    local pid birth
    read -r pid birth 2>/dev/null <"$STATE/$1.pid" || return 1
    [ -n "$birth" ] && [ "$(started "$pid")" = "$birth" ]
}

signal() { # SIGNAL NODE
    local pid
    read -r pid _ <"$STATE/$2.pid"
    kill "-$1" "$pid" 2>/dev/null || true
}

# The nodes that `up` made, in order.
nodes() {
    [ -r "$STATE/nodes" ] && grep -Ex 'n[0-9]+' "$STATE/nodes"
}

until_or_deadline() { # SECONDS COMMAND…
    local end=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -lt "$end" ] || return 1
        sleep 0.05
    done
}

none_alive() {
    local node
    for node in $(nodes); do
        if alive "$node"; then return 1; fi
    done
}

make_lan() {
    ip netns add "$LAN"
    ip -n "$LAN" link set lo up
    ip -n "$LAN" link add lan type bridge
    # Without a querier on the network a snooping bridge would stop passing mDNS on after some minutes.
    ip -n "$LAN" link set lan type bridge mcast_snooping 0
    ip -n "$LAN" link set lan up
}

make_node() { # NUMBER
    local netns="$PREFIX-n$1"
    ip netns add "$netns"
    ip -n "$netns" link set lo up
    ip link add "n$1" netns "$LAN" type veth peer name eth0 netns "$netns"
    ip -n "$LAN" link set "n$1" master lan up
    ip -n "$netns" addr add "10.87.0.$1/24" dev eth0
    if [ -e /proc/sys/net/ipv6 ]; then
        # Nobody else can have the address: no need to ask around for a second.
        ip netns exec "$netns" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad'
        ip -n "$netns" addr add "fdda:e087::$1/64" dev eth0 nodad
    fi
    ip -n "$netns" link set eth0 up
}

start_daemon() { # NUMBER
    local node="n$1" pid more
    read -ra more <<<"${DAE_LOCAL_JOIN:-}"
    # Its identity goes where `down` removes it; its socket where every client of this user looks.
    XDG_STATE_HOME="$STATE/state" setsid ip netns exec "$PREFIX-$node" \
        "$program" join --cluster "$NAME" --name "$node" --key-file "$STATE/key" ${more[@]+"${more[@]}"} \
        </dev/null >"$STATE/$node.log" 2>&1 &
    pid=$!
    echo "$pid $(started "$pid")" >"$STATE/$node.pid"
}

# Do all daemons live, and does each see all of them?
complete() {
    local node seen
    for node in $(nodes); do
        alive "$node" || die "the daemon of $node has ended: $(tail -n 5 "$STATE/$node.log")"
    done
    for node in $(nodes); do
        seen="$("$program" nodes --cluster "$NAME" --node "$node" --json 2>/dev/null | joined)" || return 1
        [ "$seen" -eq "$1" ] || return 1
    done
}

# How many nodes of the JSON are there and alive.
joined() { grep -oE '"state": *"alive"' | wc -l; }

up() {
    local count="${1:-}" i
    if ! [[ "$count" =~ ^[1-9][0-9]?$ && "$count" -le "$MOST" ]]; then
        usage >&2
        exit 2
    fi
    find_program
    if [ -e "$STATE" ]; then
        if [ "$(nodes | wc -l)" -eq "$count" ] && (complete "$count") 2>/dev/null; then
            say "already up: $count nodes of the cluster \`$NAME\`"
            return
        fi
        die "another one is there already, see \`cluster/local.sh status\`; end it first with \`cluster/local.sh down\`"
    fi
    # Made in one go, so that of two callers one is refused.
    mkdir -m 0700 "$STATE" 2>/dev/null || die "cannot make $STATE, or another \`up\` just has"
    trap 'say "taking down what was begun"; down' EXIT
    "$program" key new "$STATE/key" >/dev/null
    make_lan
    for ((i = 1; i <= count; i++)); do
        echo "n$i" >>"$STATE/nodes"
        make_node "$i"
    done
    for ((i = 1; i <= count; i++)); do start_daemon "$i"; done
    until_or_deadline "$DEADLINE_S" complete "$count" || {
        tail -n 3 "$STATE"/n*.log >&2
        die "the $count nodes did not all see each other within $DEADLINE_S s"
    }
    trap - EXIT
    say "up: $count nodes; try \`dae-node nodes --cluster $NAME\`, and end them with \`cluster/local.sh down\`"
}

down() {
    local node netns
    if [ -d "$STATE" ]; then
        for node in $(nodes); do if alive "$node"; then signal TERM "$node"; fi; done
        until_or_deadline 10 none_alive || {
            say "some daemons do not leave: killing them"
            for node in $(nodes); do if alive "$node"; then signal KILL "$node"; fi; done
            until_or_deadline 5 none_alive || die "a daemon cannot be killed; the logs are in $STATE"
        }
    fi
    for netns in $(ip netns list | cut -d' ' -f1); do
        if [[ $netns == "$LAN" || $netns =~ ^"$PREFIX"-n[0-9]+$ ]]; then ip netns del "$netns"; fi
    done
    # What a killed daemon could not remove itself.
    local runtime="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}/dae-$UID}"
    for node in $(nodes); do rm -f "$runtime/dae/$NAME/$node".{sock,pid}; done
    rmdir "$runtime/dae/$NAME" "$runtime/dae" 2>/dev/null || true
    if [ -z "${XDG_RUNTIME_DIR:-}" ]; then rmdir "$runtime" 2>/dev/null || true; fi
    rm -rf "$STATE"
}

status() {
    local node
    [ -d "$STATE" ] || {
        echo "down"
        return
    }
    for node in $(nodes); do
        if alive "$node"; then
            echo "$node: pid $(cut -d' ' -f1 "$STATE/$node.pid"), 10.87.0.${node#n}, log $STATE/$node.log"
        else
            echo "$node: its daemon has ended; log $STATE/$node.log"
        fi
    done
}

case "${1:-}" in
up)
    check_tools
    check_state
    up "${2:-}"
    ;;
down)
    check_tools
    check_state
    down
    ;;
status)
    check_state
    status
    ;;
exec)
    check_tools
    [ $# -ge 3 ] || {
        usage >&2
        exit 2
    }
    [ -e "/run/netns/$PREFIX-$2" ] || die "there is no node $2: see \`cluster/local.sh status\`"
    exec ip netns exec "$PREFIX-$2" "${@:3}"
    ;;
-h | --help | help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
