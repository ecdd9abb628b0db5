#!/bin/sh
# Trains one autoencoder on five schedules, and draws their curves against samples, time and bytes.
#
#     examples/compare-schedules/run.sh [FOLDER]        the folder of the runs, runs/compare if none is named
#
# To compare others, change the list. What has been run before is not run again, so only what is new takes time.
set -eu
topology=$(dirname "$0")/../mnist-mlp/topology.toml
runs=${1:-runs/compare}

list() {
    cat <<'WORDS'
sync       split 4 | step adam(1e-3)
async      step raw | join 4 sync=async outer=adam(1e-3)
local-sgd  step sgd(2, momentum=0.9) | every 16 | join 4
diloco     step adamw(1e-3) | every 20 | join 4 outer=nesterov(0.7,0.9)
hybrid     split 2 | step adamw(1e-3) | every 20 | join 2 sync=async outer=sgd(0.5)
WORDS
}

list | while read -r name word; do
    [ -e "$runs/$name/summary.json" ] ||
        dae-node run "$topology" --run-dir "$runs/$name" --set job.steps=800 --set schedule.word="$word" </dev/null
done

for x in samples seconds bytes; do
    dae-node plot "$runs"/*/ --x "$x" --nodes 2 --out "$runs/$x.png"
done
