# --- Slurm ---------------------------------------------------------------------------------------

allocation_log=''

# allocate COMMAND ...: takes nodes without a shell, and learns the job's id from what salloc says,
# also while the request still waits, so that a run that is cut short leaves no request behind.
allocate() {
  local status=0
  allocation_log=$(mktemp)
  say 'asking for a node'
  hold_signals
  "$@" </dev/null 2>"$allocation_log" &
  step_pid=$!
  take_signals
  wait "$step_pid" || status=$?
  step_pid=
  cat -- "$allocation_log" >&2
  learn_job
  rm -f -- "$allocation_log"
  [[ $status == 0 && -n $hole_job ]] || stop allocation-refused 5 "salloc ended with $status"
  say "job $hole_job"
}

learn_job() {
  local line
  [[ -n $allocation_log && -r $allocation_log && -z $hole_job ]] || return 0
  while IFS= read -r line; do
    if [[ $line =~ (Granted|Pending)\ job\ allocation\ ([0-9]+) ]]; then
      hole_job=${BASH_REMATCH[2]}
    fi
  done <"$allocation_log"
}

# find_node COMMAND ...: has the node part run wherever the request is granted, and notes where.
find_node() {
  local told
  told=$(mktemp)
  step "$@" >"$told"
  given_node=$(tail -n 1 -- "$told")
  rm -f -- "$told"
  [[ -n $given_node ]] || stop allocation-refused 5 'the node did not say its name'
}

# release: ends the step, lets it write its evidence, and gives the nodes back. A signal to srun
# itself would kill the step at once, so the signal goes to the step through the scheduler.
release() {
  local waited
  dismiss
  learn_job
  if [[ -z $hole_job && -r $host_log_directory/$stem.start ]]; then
    hole_job=$(<"$host_log_directory/$stem.start")
  fi
  if [[ -n $step_pid ]]; then
    if [[ -n $hole_job ]]; then
      scancel --signal=TERM "$hole_job" 2>/dev/null
    else
      kill -TERM "$step_pid" 2>/dev/null
    fi
    for ((waited = 0; waited < 200; waited++)); do
      kill -0 "$step_pid" 2>/dev/null || break
      sleep 0.2
    done
    kill -TERM "$step_pid" 2>/dev/null
  fi
  if [[ -n $hole_job ]]; then
    scancel "$hole_job"
    for ((waited = 0; waited < 100; waited++)); do
      squeue -h -j "$hole_job" -t all -o %T 2>/dev/null | grep -qE 'PENDING|RUNNING|SUSPENDED|COMPLETING' || break
      sleep 0.2
    done
  fi
}
