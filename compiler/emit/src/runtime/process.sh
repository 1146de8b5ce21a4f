# --- Processes in the container ------------------------------------------------------------------

# A process gets what its plan declares, and from outside only: what the image defines (the image
# is pinned, so this is too), HOME, and the variables by which a scheduler shows a job its GPUs.
# What the plan says must not be set is not, wherever it would come from.
#
# What else the shell would pass on is taken away name by name: that leaves a secret where it is,
# and puts it on no command line.
compose_environment() {
  local name pair kept=" "
  environment=()
  inherited=()
  for name in $given_image_variables PATH HOME LD_LIBRARY_PATH \
    CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES GPU_DEVICE_ORDINAL; do
    if [[ -v $name && " ${inherited[*]%%=*} ${unset_names[*]} " != *" $name "* ]]; then
      inherited+=("$name=${!name}")
    fi
  done
  for name in ${secrets[@]+"${secrets[@]}"}; do
    if [[ -v $name ]]; then
      export "${name?}"
      kept+="$name "
    fi
  done
  while IFS= read -r -d '' pair; do
    name=${pair%%=*}
    if [[ -n $name && $kept != *" $name "* ]]; then
      environment+=("--unset=$name")
    fi
  done < <(env -0)
  environment+=("--unset=_" ${inherited[@]+"${inherited[@]}"} ${declared[@]+"${declared[@]}"})
}

# start NAME KIND CRITICAL: starts the process that the arrays describe, in a process group of its own.
start() {
  local log="$log_directory/$stem.$1.log"
  compose_environment
  now
  process_names+=("$1")
  process_kinds+=("$2")
  process_critical+=("$3")
  process_started+=("$REPLY")
  process_ended+=("")
  process_exit+=("")
  process_ready+=("")
  json_list "${argv[@]}"
  local text='"argv":'$REPLY
  json_table ${declared[@]+"${declared[@]}"}
  text+=',"env":'$REPLY
  json_table ${inherited[@]+"${inherited[@]}"}
  text+=',"inherited":'$REPLY
  json_list ${secrets[@]+"${secrets[@]}"}
  text+=',"secrets":'$REPLY
  json_list ${unset_names[@]+"${unset_names[@]}"}
  text+=',"unset":'$REPLY
  json_string "$log"
  text+=',"log":'$REPLY
  process_texts+=("$text")
  hold_signals
  set -m
  env "${environment[@]}" "${argv[@]}" >"$log" 2>&1 </dev/null &
  process_pids+=("$!")
  set +m
  take_signals
  started=$((${#process_pids[@]} - 1))
  say "$1 started; its log is $log"
}

running() { kill -0 "${process_pids[$1]}" 2>/dev/null; }

# settle INDEX: notes when and how a process ended; sets REPLY to its exit status.
settle() {
  local status=0
  if [[ -z ${process_exit[$1]} ]]; then
    wait "${process_pids[$1]}" 2>/dev/null || status=$?
    now
    process_ended[$1]=$REPLY
    process_exit[$1]=$status
  fi
  REPLY=${process_exit[$1]}
}

# watch EXCEPT: stops the run if a process that it needs has ended.
watch() {
  local index
  for index in "${!process_pids[@]}"; do
    [[ $index != "$1" && ${process_critical[index]} == yes && -z ${process_exit[index]} ]] || continue
    running "$index" && continue
    settle "$index"
    tail -n 50 -- "$log_directory/$stem.${process_names[index]}.log" >&2 || true
    stop process-died 1 "${process_names[index]} ended with $REPLY while it was needed"
  done
}

# run_to_end NAME KIND CRITICAL: runs a process; its failure ends the run if it is critical.
run_to_end() {
  local index begun
  start "$1" "$2" no
  index=$started
  begun=$SECONDS
  while running "$index"; do
    watch "$index"
    tick "$begun"
  done
  settle "$index"
  if [[ $REPLY != 0 ]]; then
    tail -n 50 -- "$log_directory/$stem.$1.log" >&2 || true
    [[ $3 == no ]] || stop step-failed 1 "$1 ended with $REPLY"
    say "$1 ended with $REPLY; it is not needed, so the run goes on"
  fi
}

# run_finish NAME KIND: runs the process whose end ends the job, and takes its status as the job's.
run_finish() {
  local index begun status
  start "$1" "$2" no
  index=$started
  # What it says is shown as it says it, and is in its log as well.
  hold_signals
  set -m
  tail -n +1 -f -s 0.2 "--pid=${process_pids[index]}" -- "$log_directory/$stem.$1.log" </dev/null &
  helpers+=("$!")
  set +m
  take_signals
  begun=$SECONDS
  while running "$index"; do
    watch "$index"
    tick "$begun"
  done
  watch "$index"
  wait "${helpers[-1]}" || true
  settle "$index"
  status=$REPLY
  [[ $status == 0 ]] || stop step-failed "$status" "$1 ended with $status"
}

http_ok() {
  local connection line=
  {
    exec {connection}<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$2" "$1" >&"$connection" || return 1
    read -r -t 5 -u "$connection" line || [[ -n $line ]] || return 1
    exec {connection}>&-
  } 2>/dev/null
  [[ $line == HTTP/*' 2'[0-9][0-9]* ]]
}

tcp_ok() { : 2>/dev/null >"/dev/tcp/127.0.0.1/$1"; }

probe() {
  case $1 in
    http) http_ok "$2" "$3" ;;
    tcp) tcp_ok "$2" ;;
  esac
}

# await INDEX SECONDS http PORT PATH | tcp PORT: polls until the process answers; SECONDS may be
# empty for no bound. The end of any process that is needed ends the wait.
await() {
  local index=$1 bound=$2 begun=$SECONDS
  shift 2
  until (probe "$@" 2>/dev/null); do
    running "$index" || {
      settle "$index"
      tail -n 50 -- "$log_directory/$stem.${process_names[index]}.log" >&2 || true
      stop process-died 1 "${process_names[index]} ended with $REPLY before it was ready"
    }
    watch "$index"
    if [[ -n $bound ]] && ((SECONDS - begun >= bound)); then
      tail -n 50 -- "$log_directory/$stem.${process_names[index]}.log" >&2 || true
      stop not-ready 1 "${process_names[index]} was not ready within $bound s"
    fi
    tick "$begun"
  done
  # Something else may hold the port while the process that should is gone.
  watch none
  now
  process_ready[index]=$REPLY
  say "${process_names[index]} is ready after $((SECONDS - begun)) s"
}

# Ends every process group that was started, the last first; none outlives the run.
stop_processes() {
  local index waited alive helper
  for helper in ${helpers[@]+"${helpers[@]}"}; do
    kill -TERM -- "-$helper" 2>/dev/null || true
  done
  for ((index = ${#process_pids[@]} - 1; index >= 0; index--)); do
    kill -TERM -- "-${process_pids[index]}" 2>/dev/null || true
  done
  for ((waited = 0; waited < 150; waited++)); do
    alive=no
    for index in "${!process_pids[@]}"; do
      if kill -0 -- "-${process_pids[index]}" 2>/dev/null; then
        alive=yes
      fi
    done
    [[ $alive == yes ]] || break
    sleep 0.2
  done
  for index in "${!process_pids[@]}"; do
    kill -KILL -- "-${process_pids[index]}" 2>/dev/null || true
    settle "$index"
  done
}
