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

# The page of `headway serve`, into web/dist, when something it is made of has changed.
build_web() {
  local made=$root/web/dist/index.html
  [ -d "$root/web/node_modules" ] || return 0
  if [ -f "$made" ] && [ -z "$(cd -- "$root/web" && find src index.html package.json package-lock.json \
    tsconfig.json vite.config.ts -newer "$made" -print -quit)" ]; then
    return 0
  fi
  say "building the page"
  quietly "$root/build/log/npm-build.log" npm --prefix "$root/web" run build
}

build_release() {
  build_web
  configure release
  compile release
}
