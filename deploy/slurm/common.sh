# shellcheck shell=sh
# What prolog.sh and epilog.sh share. Sourced.

# remove_leftovers UID: shared memory of Headway's that this user owns and that nobody holds: a running
# job of the same user keeps a lock (flock) on its folder, or on the file `lock` in it.
remove_leftovers() {
  [ -n "$1" ] || return 0
  for entry in "${HEADWAY_SHM_DIR:-/dev/shm}"/headway-*; do
    if [ ! -e "$entry" ] || [ -L "$entry" ]; then continue; fi
    [ "$(stat -c %u -- "$entry" 2>/dev/null)" = "$1" ] || continue
    held "$entry" || held "$entry/lock" || rm -rf -- "$entry" 2>/dev/null
  done
  return 0
}

held() {
  [ -e "$1" ] || return 1
  ! flock --nonblock "$1" true 2>/dev/null
}

# node_facts: key=value, one a line.
node_facts() {
  echo "host=$(uname -n)"
  echo "time_s=$(date +%s)"
  echo "kernel=$(uname -r)"
  echo "boot_id=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
  echo "uptime_s=$(cut -d. -f1 /proc/uptime 2>/dev/null)"
  echo "load_1min=$(cut -d' ' -f1 /proc/loadavg 2>/dev/null)"
  echo "processors=$(nproc 2>/dev/null)"
  sed -n 's/^MemAvailable: *\([0-9]*\) kB$/memory_available_kib=\1/p' /proc/meminfo 2>/dev/null
  df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print "shm_free_kib=" $4}'
  # A driver that hangs must not hold the job up.
  if command -v nvidia-smi >/dev/null 2>&1; then
    timeout 5 nvidia-smi --query-gpu=index,name,driver_version,ecc.errors.uncorrected.volatile.total \
      --format=csv,noheader 2>/dev/null | sed 's/^/gpu=/'
  fi
  return 0
}
