# --- Evidence ------------------------------------------------------------------------------------

# write_evidence CODE: says what this run was given, what was seen, and how it ended. Secrets by
# name only. A reader finds it beside the results; a write is a new file and a rename.
write_evidence() {
  local index text ended file comma='' gpus=''
  now
  ended=$REPLY
  text=$evidence_head
  json_string "${given_script:-}"
  text+=',"script":'$REPLY
  json_string "$given_image_seen"
  text+=',"image":{"wanted":'$image_wanted',"pinned":'$image_pinned',"seen":'$REPLY'}'
  json_string "$given_node"
  text+=',"node":'$REPLY
  json_string "${hole_job:-}"
  text+=',"scheduler_job":'$REPLY
  text+=',"started":"'$given_started'","ended":"'$ended'"'
  text+=',"checkpoints":['
  for index in "${!gate_texts[@]}"; do
    text+=$comma${gate_texts[index]}
    comma=,
  done
  text+='],"processes":['
  comma=''
  for index in "${!process_names[@]}"; do
    text+=$comma'{"name":"'${process_names[index]}'","kind":"'${process_kinds[index]}'",'${process_texts[index]}
    text+=',"started":"'${process_started[index]}'","ready":'$(optional "${process_ready[index]}")
    text+=',"ended":'$(optional "${process_ended[index]}")',"exit":'${process_exit[index]:-null}'}'
    comma=,
  done
  text+=']'
  if command -v nvidia-smi >/dev/null; then
    gpus=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null) || gpus=''
  fi
  json_string "$gpus"
  text+=',"gpus":'$REPLY',"results":['
  comma=''
  # What the run left in its folder: new files beside this one, each with its digest.
  while IFS= read -r -d '' file; do
    json_string "$file"
    text+=$comma'{"path":'$REPLY',"sha256":"'$(sha256sum <"$log_directory/$file" | head -c 64)'"}'
    comma=,
  done < <(cd -- "$log_directory" && find . -maxdepth 3 -path ./.git -prune -o -type f -newer "./$stem.start" ! -name "$stem.*" -printf '%P\0' 2>/dev/null | sort -z | head -z -n 200)
  text+='],"exit":'$1
  text+=',"stopped":'$(optional "${stopped:-}")'}'
  printf '%s\n' "$text" >"$log_directory/$stem.evidence.json.$$"
  mv -f -- "$log_directory/$stem.evidence.json.$$" "$log_directory/$stem.evidence.json"
  rm -f -- "$log_directory/$stem.start"
}

optional() {
  if [[ -n $1 ]]; then
    json_string "$1"
    printf '%s' "$REPLY"
  else
    printf 'null'
  fi
}
