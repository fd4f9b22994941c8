#!/bin/sh
# Slurm's Epilog on every node, when all of a job's processes are gone (slurm.conf: Epilog=…/epilog.sh).
# Takes back the shared memory that a killed job could not, and the prolog's notes.
#
# It never fails: an epilog that does drains the node.
here=$(dirname -- "$0")
# shellcheck source=deploy/slurm/common.sh
. "$here/common.sh"

remove_leftovers "${SLURM_JOB_UID:-}"
rm -f -- "${HEADWAY_FACTS_DIR:-/run/headway}/job-${SLURM_JOB_ID:-0}.facts" 2>/dev/null
exit 0
