# --- What every part uses ------------------------------------------------------------------------

say() { printf 'recipec: %s\n' "$*" >&2; }

# stop REASON CODE TEXT: ends the run with a reason that has a name; evidence and cleanup follow.
stop() {
  stopped=$1
  say "stopped: $1: $3"
  exit "$2"
}

need() {
  local tool
  for tool; do
    command -v -- "$tool" >/dev/null || stop tool-missing 5 "\`$tool\` is not on this machine"
  done
}

# A signal ends the run, but not between the start of a process and the note of its id: what is
# not noted would be left behind. `hold_signals` has them wait for `take_signals`.
on_signal() {
  if [[ -n $held ]]; then
    caught=$1
  else
    # A second one must not cut short what the first one began.
    trap '' INT TERM HUP
    stopped=signal
    exit "$1"
  fi
}

hold_signals() { held=yes; }

take_signals() {
  held=''
  [[ -z $caught ]] || on_signal "$caught"
}

trap_signals() {
  trap 'on_signal 130' INT
  trap 'on_signal 143' TERM
  trap 'on_signal 129' HUP
}

# pause SECONDS: sleeps, and wakes for a signal at once, which a plain sleep would not.
pause() {
  sleep "$1" &
  wait "$!" || true
}

# attend COMMAND ...: runs a command in a process group of its own and waits for it. A signal ends
# the wait at once, and `dismiss` the group.
attend() {
  local status=0
  hold_signals
  set -m
  "$@" </dev/null &
  attended=$!
  set +m
  take_signals
  wait "$attended" || status=$?
  attended=''
  return "$status"
}

dismiss() {
  if [[ -n $attended ]]; then
    kill -TERM -- "-$attended" 2>/dev/null || true
  fi
}

# tick BEGUN: the pause between two looks: short at first, then a second, which disturbs nothing.
tick() {
  if ((SECONDS - $1 < 3)); then
    pause 0.1
  else
    pause 1
  fi
}

now() { TZ=UTC0 printf -v REPLY '%(%Y-%m-%dT%H:%M:%SZ)T' -1; }

# plain NAME VALUE: refuses a value of a hole that mounts, JSON or a command could read differently.
plain() {
  [[ -n $2 ]] || stop hole-empty 2 "$1 is empty"
  [[ $2 != *[$',:"\\\x01'-$'\x1f\x7f']* ]] || stop hole-unusable 2 "$1 holds a comma, colon, quote or control character"
}

# take NAME=VALUE ...: what one part of this script hands to another, as arguments.
take() {
  local pair
  for pair; do
    case ${pair%%=*} in
      hole_* | given_*) printf -v "${pair%%=*}" '%s' "${pair#*=}" ;;
      *) stop argument-unknown 2 "$pair" ;;
    esac
  done
}

# json_string TEXT: sets REPLY to TEXT as a JSON string.
json_string() {
  local text=$1 code plain hexadecimal
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  if [[ $text == *[$'\x01'-$'\x1f']* ]]; then
    for code in {1..31}; do
      printf -v hexadecimal '%02x' "$code"
      printf -v plain '%b' "\\x$hexadecimal"
      text=${text//"$plain"/\\u00$hexadecimal}
    done
  fi
  REPLY="\"$text\""
}

# json_list ITEM ...: sets REPLY to a JSON list of strings.
json_list() {
  local item list=''
  for item; do
    json_string "$item"
    list+=${list:+,}$REPLY
  done
  REPLY="[$list]"
}

# json_table NAME=VALUE ...: sets REPLY to a JSON object; a later pair replaces an earlier one.
json_table() {
  local pair key table=''
  local -A seen=()
  local -a order=()
  for pair; do
    key=${pair%%=*}
    [[ -n ${seen["$key"]+set} ]] || order+=("$key")
    seen["$key"]=${pair#*=}
  done
  for key in ${order[@]+"${order[@]}"}; do
    json_string "$key"
    table+=${table:+,}$REPLY:
    json_string "${seen["$key"]}"
    table+=$REPLY
  done
  REPLY="{$table}"
}
