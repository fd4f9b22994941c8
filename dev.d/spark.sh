# shellcheck shell=bash
# test-spark: an environment of its own (build/spark-venv), and the tests that start a Spark cluster.

spark_venv=$root/build/spark-venv
requirements_spark=$root/requirements/spark.txt

setup_spark() {
  local wanted stamp=$spark_venv/.headway-requirements
  command -v java >/dev/null || [ -n "${JAVA_HOME:-}" ] ||
    die "test-spark needs Java 17 or later: apt-get install default-jre-headless"
  wanted=$(sha256sum <"$requirements_spark")
  if [ "$(cat -- "$stamp" 2>/dev/null)" = "$wanted" ]; then
    return 0
  fi
  say "making build/spark-venv (500 MB to download)"
  "$python" -m venv --clear -- "$spark_venv"
  quietly "$root/build/log/pip-spark.log" "$spark_venv/bin/python" -m pip install \
    --disable-pip-version-check -r "$requirements_spark"
  printf '%s\n' "$wanted" >"$stamp"
}

run_spark_tests() {
  setup_spark
  configure release
  compile release headway headway_python headway_python_files write_fleet
  # What is not of this environment (a store's server) comes from .venv.
  HEADWAY_BIN=$root/build/headway HEADWAY_PYTHON=$root/build/python HEADWAY_DEV_VENV=$venv \
    "$spark_venv/bin/python" -m pytest -s --basetemp "$root/build/spark-tests" tests/spark
}
