# shellcheck shell=bash
# setup: Debian packages, then .venv, then what the page is built with. All are skipped within a second
# when nothing has changed.

packages_file=$root/dev.d/debian-packages.txt
requirements_torch=$root/requirements/torch.txt
requirements_rest=$root/requirements/dev.txt

# A python3 that can make a virtual environment and build extension modules, whoever built it.
python3_usable() {
  python3 - <<'PY' 2>/dev/null
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(not (sys.version_info >= (3, 10) and os.path.exists(header)))
PY
}

wanted_packages() {
  local version
  sed -e '/^#/d' -e '/^$/d' -- "$packages_file"
  version=$(clang_version)
  # Where another version is installed it stands in for the wanted one: see available_packages.
  if [ "${version:-$clang_wanted}" = "$clang_wanted" ]; then
    printf '%s\n' "clang-$clang_wanted" "clang-format-$clang_wanted" "libclang-rt-$clang_wanted-dev"
  fi
  python3_usable || printf '%s\n' python3 python3-venv python3-dev
}

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p')
  wanted_packages | grep -vxF -f <(printf '%s\n' "$installed") || true
}

# Names on stdin; names that can be installed on stdout. Where this release of Debian or Ubuntu has
# no clang of the wanted version, the newest one it has takes its place.
available_packages() {
  local package newest instead
  while read -r package; do
    if [[ $package != *-"$clang_wanted"* ]] || apt-cache show "$package" >/dev/null 2>&1; then
      echo "$package"
      continue
    fi
    newest=$(apt-cache pkgnames clang- | sed -nE 's/^clang-([0-9]+)$/\1/p' | sort -n | tail -n 1)
    instead=${package//$clang_wanted/$newest}
    if [ -n "$newest" ] && apt-cache show "$instead" >/dev/null 2>&1; then
      say "note: $instead in place of $package, which is not to be had here" >&2
      echo "$instead"
    fi
  done
}

# install_packages NAMES…: without starting servers that are among them. Tests start their own, on free
# ports; Debian's prometheus would listen on all addresses, now and after every boot. A subshell: what
# keeps servers from starting goes away however this ends.
install_packages() (
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap '"${as_root[@]}" rm -f -- "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee -- "$policy" >/dev/null
    "${as_root[@]}" chmod 755 -- "$policy"
  fi
  quietly "$root/build/log/apt-install.log" \
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "$@" || exit
  if [[ " $* " == *' prometheus '* ]] && command -v systemctl >/dev/null; then
    "${as_root[@]}" systemctl --quiet disable prometheus.service
  fi
)

setup_packages() {
  local missing names as_root=()
  command -v dpkg-query >/dev/null ||
    die "setup knows Debian and Ubuntu; elsewhere install what dev.d/debian-packages.txt names"
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      die "needs root or sudo to install: ${missing//$'\n'/ }"
    fi
  fi
  say "installing Debian packages: ${missing//$'\n'/ }"
  quietly "$root/build/log/apt-update.log" \
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  mapfile -t names < <(available_packages <<<"$missing")
  install_packages "${names[@]}"
}

setup_venv() {
  local wanted stamp=$venv/.headway-requirements
  wanted=$(cat -- "$requirements_torch" "$requirements_rest" | sha256sum)
  if [ -x "$python" ] && [ "$(cat -- "$stamp" 2>/dev/null)" = "$wanted" ]; then
    return 0
  fi
  if [ ! -x "$venv/bin/pip" ]; then
    say "making .venv with $(python3 --version)"
    python3 -m venv --clear -- "$venv"
  fi
  # torch alone and first: a resolver that sees it together with others may pick a CUDA build.
  say "installing torch (a few minutes on a slow line)"
  quietly "$root/build/log/pip-torch.log" "$python" -m pip install \
    -r "$requirements_torch" -c "$requirements_rest"
  say "installing the other Python packages"
  quietly "$root/build/log/pip-rest.log" "$python" -m pip install -r "$requirements_rest"
  printf '%s\n' "$wanted" >"$stamp"
}

# A node that can build the page. Debian 12's own is too old, so it is no package of ours: without one
# the rest is built, and the collector has no page.
node_usable() {
  command -v npm >/dev/null &&
    node -e 'const [a, b] = process.versions.node.split(".").map(Number);
             process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

setup_web() {
  local wanted stamp=$root/web/node_modules/.headway-lock
  if ! node_usable; then
    say "note: no Node.js of 20.19, 22.12 or newer here, the collector's page is not built"
    return 0
  fi
  wanted=$(sha256sum <"$root/web/package-lock.json")
  [ "$(cat -- "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
  say "installing the page's packages"
  quietly "$root/build/log/npm-ci.log" npm --prefix "$root/web" ci
  printf '%s\n' "$wanted" >"$stamp"
}

setup() {
  setup_packages
  setup_venv
  setup_web
  export VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH
}
