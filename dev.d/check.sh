# shellcheck shell=bash
# lint, format, sanitizers, fuzzers, and `test`, which is all of them with the tests in one run.

# Names of tests that the everyday run repeats under a sanitizer: the code that reads foreign bytes
# off a network or is called from many threads. The others' sanitized builds take longer than all the
# tests: `./dev test --full`, `./dev asan` and `./dev tsan` take them all.
asan_tests='^(base|collector|demo|event|fleet|record|journal|ledger|timeline|interchange|ingest|net|otlp|regress|store)_'
tsan_tests='^(collector|fleet|metrics_page|net|record|recorder|journal|store)_'

cpp_files() {
  find include src python tests bench fuzz examples -type f \( -name '*.h' -o -name '*.cc' \) -print0
}

lint_format() {
  if command -v "clang-format-$clang_wanted" >/dev/null; then
    cpp_files | xargs -0 "clang-format-$clang_wanted" --dry-run -Werror
  else
    say "note: no clang-format-$clang_wanted here, C++ formatting not checked"
  fi
}

# All of them, whichever fails first.
lint() {
  local failed=0
  lint_format || failed=1
  "$python" tools/check_layers.py || failed=1
  shellcheck -x dev .ci/run deploy/slurm/prolog.sh deploy/slurm/epilog.sh examples/slurm/train.sbatch ||
    failed=1
  "$venv/bin/ruff" check --quiet . || failed=1
  "$venv/bin/ruff" format --check --quiet --exclude '*.md' . || failed=1
  [ $failed -eq 0 ] || die "lint: see above; ./dev format mends formatting"
  say "lint: clean"
}

format_tree() {
  command -v "clang-format-$clang_wanted" >/dev/null || die "format needs clang-format-$clang_wanted"
  cpp_files | xargs -0 "clang-format-$clang_wanted" -i
  "$venv/bin/ruff" format --quiet --exclude '*.md' .
  "$venv/bin/ruff" check --quiet --fix .
}

run_ctest() {
  ctest --test-dir "$(build_dir "$1")" --output-on-failure --no-tests=error -j "$jobs" "${@:2}"
}

# sanitized PRESET REGEX [command prefix…]: builds and runs the tests whose name fits REGEX.
sanitized() {
  local preset=$1 regex=$2 tests
  shift 2
  configure "$preset"
  ninja -C "$(build_dir "$preset")" build.ninja >/dev/null # a stale list would miss a new test
  mapfile -t tests < <(ctest --test-dir "$(build_dir "$preset")" -N -R "$regex" |
    sed -nE 's/^ *Test +#[0-9]+: //p')
  [ ${#tests[@]} -gt 0 ] || die "$preset: no test fits '$regex'"
  compile "$preset" "${tests[@]}"
  "$@" ctest --test-dir "$(build_dir "$preset")" --output-on-failure -j "$jobs" -R "$regex"
}

run_asan() { sanitized asan "$1"; }

# GCC's TSan cannot map its shadow where the kernel randomises addresses too far: switch that off
# for the tests, where the system allows it.
run_tsan() {
  local prefix=()
  if setarch --addr-no-randomize true 2>/dev/null; then
    prefix=(setarch --addr-no-randomize)
  fi
  sanitized tsan "$1" "${prefix[@]}"
}

run_fuzz() {
  local runs=$1 version target targets name work log
  version=$(clang_version)
  [ -n "$version" ] || die "fuzz needs clang; run ./dev setup"
  configure fuzz "-DCMAKE_C_COMPILER=clang-$version" "-DCMAKE_CXX_COMPILER=clang++-$version"
  mapfile -t targets < <(basename -s .cc -- fuzz/*_fuzz.cc)
  compile fuzz "${targets[@]}"
  for target in "${targets[@]}"; do
    name=${target%_fuzz}
    work=$root/build/fuzz/work/$name
    log=$root/build/log/fuzz-$name.log
    mkdir -p -- "$work/found" "$work/crashes"
    [ -n "$(ls -A -- "$root/fuzz/corpus/$name")" ] || die "fuzz $name has no corpus"
    say "fuzz $name: $runs runs"
    quietly "$log" "$root/build/fuzz/bin/$target" -runs="$runs" -seed=1 -timeout=10 -rss_limit_mb=1024 \
      -artifact_prefix="$work/crashes/" "$work/found" "$root/fuzz/corpus/$name" ||
      die "fuzz $name failed; input in build/fuzz/work/$name/crashes, log in ${log#"$root"/}"
  done
}

# More than these are no accident of a busy machine.
alone_max=5

# Most tests wait for processes most of the time: three at once, the longest folders first.
run_pytest() {
  local folder folders=()
  for folder in tests/slurm tests/nodes tests/kill tests/replica tests/store tests/cache tests/autotune tests/store_postgres \
    tests/collector tests/web tests/agent tests/e2e tests/python tests/checkpoint tests/deploy tests/trace \
    tests/docs tests/golden tests/interval tests/failure tools; do
    [ -d "$folder" ] && folders+=("$folder")
  done
  export HEADWAY_BIN=$root/build/headway HEADWAY_PYTHON=$root/build/python
  export PYTHONPATH=$root/build/python${PYTHONPATH:+:$PYTHONPATH}
  "$python" -m pytest -n 3 --dist loadgroup "${folders[@]}" && return
  run_failed_alone "${folders[@]}"
}

# Tests here start clusters, databases and browsers: a few that failed beside two others are run once
# more by themselves. Those that pass now are told by name, for whoever looks for what they stumbled over;
# one that fails again has failed.
run_failed_alone() {
  local failed=$root/.pytest_cache/v/cache/lastfailed count
  count=$(grep -c '": true' "$failed" 2>/dev/null) || true
  if [ "${count:-0}" -eq 0 ] || [ "$count" -gt "$alone_max" ]; then
    return 1
  fi
  cp -- "$failed" "$root/build/log/failed-beside-others.json"
  say "$count Python tests failed beside others; once more, alone:"
  cat -- "$root/build/log/failed-beside-others.json"
  "$python" -m pytest --last-failed --last-failed-no-failures none "$@"
}

failed=()
passed=()
# stage NAME COMMAND…: one part of the run; a failure is remembered and the run goes on.
stage() {
  local name=$1 begin=$SECONDS code
  shift
  say "$name"
  set +e
  (
    set -e
    "$@"
  )
  code=$?
  set -e
  if [ $code -eq 0 ]; then
    passed+=("$name $((SECONDS - begin)) s")
  else
    failed+=("$name")
    say "$name FAILED"
  fi
}

list() {
  local text
  printf -v text '%s, ' "$@"
  echo "${text%, }"
}

run_tests() {
  local asan=$asan_tests tsan=$tsan_tests runs=20000
  if [ "${1:-}" = --full ]; then
    asan=. tsan=. runs=1000000
    export HEADWAY_TEST_FULL=1 HEADWAY_TEST_COLD=1 # the latter: tests/shared/warm_python.py
  fi
  build_release
  stage lint lint
  stage fuzz run_fuzz "$runs"
  stage asan run_asan "$asan"
  stage tsan run_tsan "$tsan"
  stage 'C++ tests' run_ctest release
  say "passed: $(list "${passed[@]:-nothing}")"
  stage 'Python tests' run_pytest
  if [ ${#failed[@]} -gt 0 ]; then
    say "FAILED: $(list "${failed[@]}")"
    exit 1
  fi
}
