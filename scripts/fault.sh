#!/usr/bin/env bash
# Kills a run of twenty tools at 200 points and takes it up again each time; then the other faults.
# BOBSTAY_FAULT_SEED repeats a run, BOBSTAY_FAULT_POINTS changes the number of points.
set -uo pipefail
cd "$(dirname "$0")/.."
export BOBSTAY_FAULT_POINTS=${BOBSTAY_FAULT_POINTS:-200}
export BOBSTAY_FAULT_SEED=${BOBSTAY_FAULT_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $BOBSTAY_FAULT_SEED, $BOBSTAY_FAULT_POINTS points"
exec .venv/bin/python -m pytest -q -n "${JOBS:-2}" --dist load tests/fault "$@"
