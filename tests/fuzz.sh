#!/usr/bin/env bash
# Feeds random bytes to all that reads what strangers send or people write, each target for so many seconds (60 unless told
# otherwise).
# Needs a nightly toolchain, for the instrumentation; without one it says so and does nothing.
set -euo pipefail
cd "$(dirname "$0")/../crates"
seconds="${1:-60}"

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzz: left out, for there is no nightly toolchain (rustup toolchain install nightly)" >&2
    exit 0
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    (cd / && cargo install cargo-fuzz --locked --quiet)
fi
for target in dae-net/decoder dae-net/handshake dae-schedule/word; do
    echo "fuzz: $target for $seconds s"
    (cd "${target%/*}" &&
        cargo +nightly fuzz run "${target#*/}" -- -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1)
done
