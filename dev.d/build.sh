# shellcheck shell=bash
# build: CMake presets and ninja. A configure happens when there is none, or its preset changed.

build_dir() { [ "$1" = release ] && echo "$root/build" || echo "$root/build/$1"; }

# configure PRESET [cmake arguments…]
configure() {
  local preset=$1 dir
  shift
  dir=$(build_dir "$preset")
  if [ -f "$dir/build.ninja" ] && [ ! "$root/CMakePresets.json" -nt "$dir/build.ninja" ]; then
    return 0
  fi
  say "configuring $preset"
  quietly "$root/build/log/configure-$preset.log" \
    cmake --preset "$preset" "-DPython_EXECUTABLE=$python" "$@"
}

# compile PRESET [targets…]: silent when there is nothing to do.
compile() {
  local preset=$1 dir plan
  shift
  dir=$(build_dir "$preset")
  plan=$(ninja -C "$dir" -n "$@" 2>&1) || true
  case $plan in *'no work to do'*) return 0 ;; esac
  say "building $preset"
  NINJA_STATUS="[$preset %f/%t] " ninja -C "$dir" -j "$jobs" "$@"
}

build_release() {
  configure release
  compile release
}
