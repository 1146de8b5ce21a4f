# --- The part on the machine that submits --------------------------------------------------------

host_exit() {
  local code=$? held=yes
  trap '' INT TERM HUP
  trap - EXIT
  set +e
  release "$code"
  if [[ ! -e $evidence_path ]]; then
    # The container never came as far as writing its own.
    log_directory=${evidence_path%/*}
    [[ -n $stopped || $code == 0 ]] || stopped=container-failed
    write_evidence "$code"
  fi
  if [[ $code == 0 ]]; then
    say "done; the evidence is $evidence_path"
  else
    say "ended with $code; the evidence is $evidence_path"
  fi
  exit "$code"
}

# step COMMAND ...: runs a command with this script on its standard input, so that the same file is
# the part in the container and no second file must be visible there.
step() {
  local status=0
  hold_signals
  "$@" <"$script" &
  step_pid=$!
  take_signals
  wait "$step_pid" || status=$?
  step_pid=
  return "$status"
}

host_begin() {
  script=$(realpath -- "${BASH_SOURCE[0]}")
  [[ -f $script ]] || stop script-unreadable 2 "this script must be a file, because it hands itself to the container"
  given_script=$(sha256sum <"$script")
  given_script=sha256:${given_script%% *}
  given_gate=${RECIPEC_GATE:-stamp}
  now
  given_started=$REPLY
  host_holes
  evidence_path=$host_log_directory/$stem.evidence.json
  mkdir -p -- "$host_log_directory" || stop log-unwritable 5 "$host_log_directory cannot be made"
  rm -f -- "$evidence_path" "$host_log_directory/$stem.start"
  trap host_exit EXIT
  trap_signals
}
