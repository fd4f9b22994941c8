#!/bin/sh
# Slurm's Prolog on every node, before a job's first step there (slurm.conf: Prolog=…/prolog.sh).
# Removes what earlier jobs of this user left in shared memory, and writes down what the node is like,
# for whoever asks afterwards why this one was slow.
#
# It never fails: a prolog that does drains the node. It asks Slurm nothing: a thousand nodes would.
here=$(dirname -- "$0")
# shellcheck source=deploy/slurm/common.sh
. "$here/common.sh"

remove_leftovers "${SLURM_JOB_UID:-}"

facts_dir=${HEADWAY_FACTS_DIR:-/run/headway}
if mkdir -p -- "$facts_dir" 2>/dev/null; then
  node_facts >"$facts_dir/job-${SLURM_JOB_ID:-0}.facts" 2>/dev/null
fi
exit 0
