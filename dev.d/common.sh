# shellcheck shell=bash
# What every part of ./dev uses. Sourced by ./dev with `root` set and current.

root=${root:?sourced by ./dev}
venv=$root/.venv
python=$venv/bin/python
clang_wanted=19
jobs=$(nproc 2>/dev/null || echo 2)

say() { printf '== %s\n' "$*"; }
die() {
  printf './dev: %s\n' "$*" >&2
  exit 1
}

# The version of clang to use: the wanted one, else the newest that is installed, else nothing.
clang_version() {
  local version
  for version in "$clang_wanted" $(seq 30 -1 14); do
    if command -v "clang++-$version" >/dev/null; then
      echo "$version"
      return
    fi
  done
}

# quietly LOG COMMAND…: runs COMMAND with its output in LOG, which is shown when it fails.
quietly() {
  local log=$1
  shift
  mkdir -p -- "$(dirname -- "$log")"
  if ! "$@" >"$log" 2>&1; then
    tail -n 100 -- "$log" >&2
    return 1
  fi
}
