# --- The part in the container -------------------------------------------------------------------

# Names of the variables that the image defines. enroot keeps them in /etc/environment; under Docker
# the host asked the daemon.
image_variables() {
  local line
  [[ -z $given_image_variables && -r /etc/environment ]] || return 0
  while IFS= read -r line; do
    if [[ $line =~ ^([A-Za-z_][A-Za-z0-9_]*)= ]]; then
      given_image_variables+=" ${BASH_REMATCH[1]}"
    fi
  done </etc/environment
}

# enroot writes into /etc/rc what it imported; versions that do not leave the digest unseen.
image_provenance() {
  local line
  [[ -z $given_image_seen && -r /etc/rc ]] || return 0
  while IFS= read -r line; do
    if [[ $line == '# enroot-provenance: '* ]]; then
      given_image_seen=${line#*: }
      [[ $given_image_seen == "$image_reference" ]] \
        || stop image-different 4 "the container is $given_image_seen, the lock says $image_reference"
      return
    fi
  done </etc/rc
}

# write_file PATH LINE ...: the lines are joined by line breaks, so every byte is as declared.
write_file() {
  local path=$1 IFS=$'\n'
  shift
  mkdir -p -- "$(dirname -- "$path")"
  printf '%s' "$*" >"$path"
}

inside_exit() {
  local code=$? held=yes
  trap '' INT TERM HUP
  trap - EXIT
  set +e
  stop_processes
  write_evidence "$code"
  exit "$code"
}

inside() {
  exec </dev/null
  take "$@"
  [[ -n $given_node ]] || given_node=${SLURMD_NODENAME:-$(</proc/sys/kernel/hostname)}
  log_directory=$hole_logdir
  mkdir -p -- "$log_directory"
  trap inside_exit EXIT
  trap_signals
  image_variables
  image_provenance
  job_holes
  # Marks what is older than the run, and tells the submitting machine which job this is.
  printf '%s\n' "$hole_job" >"$log_directory/$stem.start"
  run_plan
}
