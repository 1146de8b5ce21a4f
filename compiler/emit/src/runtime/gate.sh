# --- The checkpoint gate -------------------------------------------------------------------------

# Every `checkpoint_N` below sets: repository, commit, list (digest of the locked file list),
# layout (`directory` or `cache`), place, and files, each as `SIZE KIND HEX PATH`, big ones first.
# KIND is `sha256`, or `blob` for a git blob id: sha1 over "blob SIZE", a zero byte and the content.

checkpoint_directory() {
  if [[ $layout == cache ]]; then
    REPLY="$place/models--${repository//\//--}/snapshots/$commit"
  else
    REPLY=$place
  fi
}

problem() {
  problems+=("$1: $2")
  [[ -n $problem_reason ]] || problem_reason=$1
}

# Looks at names and sizes; sets problems, problem_reason, extras and identity (what a stamp seals).
survey() {
  local entry rest path size kind got index file
  local -A known=()
  local -a paths=() states=() found=()
  problems=() problem_reason='' extras=() identity=''
  if [[ ! -d $directory ]]; then
    problem checkpoint-missing "$directory is not there"
    return
  fi
  for entry in "${files[@]}"; do
    size=${entry%% *} rest=${entry#* }
    kind=${rest%% *} rest=${rest#* }
    path=${rest#* }
    known["/$path"]=yes
    file=$directory/$path
    if [[ ! -e $file ]]; then
      if [[ -L $file ]]; then
        problem checkpoint-incomplete "$path is a link to nothing"
      else
        problem checkpoint-incomplete "$path is missing"
      fi
      continue
    fi
    if [[ ! -f $file || ! -r $file ]]; then
      problem checkpoint-unreadable "$path is no readable file"
      continue
    fi
    paths+=("$path")
    found+=("$size $kind")
  done
  if ((${#paths[@]})); then
    mapfile -t states < <(cd -- "$directory" && stat -L --printf='%s %.9Y %.9Z %i\n' -- "${paths[@]/#/./}")
    ((${#states[@]} == ${#paths[@]})) || problem checkpoint-unreadable "the files changed while they were looked at"
  fi
  for index in "${!states[@]}"; do
    path=${paths[index]}
    got=${states[index]%% *}
    identity+="${states[index]} $path"$'\n'
    [[ $got != "${found[index]%% *}" ]] || continue
    if ((got < 1024)) && [[ $(head -c 40 -- "$directory/$path" | tr -d '\0') == 'version https://git-lfs.github.com/spec/'* ]]; then
      problem checkpoint-pointer "$path is a large-file pointer, not the file"
    else
      problem checkpoint-different "$path has $got bytes, the lock says ${found[index]%% *}"
    fi
  done
  while IFS= read -r -d '' file; do
    path=${file#"$directory"/}
    [[ -z ${known["/$path"]+set} ]] || continue
    case $path in
      *.incomplete) problem checkpoint-in-progress "$path is a download that has not ended" ;;
      .cache/* | .git/* | .recipec/*) ;;
      *.md | LICENSE* | NOTICE* | .gitattributes | .gitignore | CACHEDIR.TAG | *.png | *.jpg | *.svg | *.pdf) extras+=("$path") ;;
      *) problem checkpoint-extra "$path is not in the lock, and an engine may read it" ;;
    esac
  done < <(find -L "$directory" \( -path "$directory/.git" -prune \) -o \( ! -type d -print0 \) 2>/dev/null)
  if [[ $layout == cache ]]; then
    incomplete_blobs
    for file in ${incomplete[@]+"${incomplete[@]}"}; do
      problem checkpoint-in-progress "${file##*/} is a download that has not ended"
    done
  fi
}

# Sets incomplete to the unfinished downloads of this checkpoint's own blobs in a shared cache.
incomplete_blobs() {
  local entry rest hex file
  incomplete=()
  for file in "$place/models--${repository//\//--}/blobs/"*.incomplete; do
    [[ -e $file ]] || continue
    for entry in "${files[@]}"; do
      rest=${entry#* * }
      hex=${rest%% *}
      [[ ${file##*/} != "$hex".* ]] || incomplete+=("$file")
    done
  done
}

# Hashes every file, many at a time; adds to problems what differs.
hash_files() {
  local workers index worker entry rest size kind hex path line scratch
  workers=$(nproc 2>/dev/null || echo 4)
  ((workers <= 32)) || workers=32
  scratch=$(mktemp -d)
  local -a pids=()
  set -m
  for ((worker = 0; worker < workers; worker++)); do
    (
      cd -- "$directory"
      for ((index = worker; index < ${#files[@]}; index += workers)); do
        entry=${files[index]}
        size=${entry%% *} rest=${entry#* }
        kind=${rest%% *} rest=${rest#* }
        hex=${rest%% *} path=${rest#* }
        if [[ $kind == sha256 ]]; then
          # The escape of `sha256sum --check` for names with a backslash; no name has a newline.
          line=$hex
          [[ $path != *\\* ]] || line="\\$hex"
          sha256sum --check --status --strict <<<"$line  ./${path//\\/\\\\}" || printf '%s\0' "$path"
        else
          line=$({ printf 'blob %s\0' "$size" && cat -- "./$path"; } | sha1sum)
          [[ ${line%% *} == "$hex" ]] || printf '%s\0' "$path"
        fi
      done
    ) >"$scratch/$worker" 2>/dev/null &
    pids+=("$!")
    helpers+=("$!")
  done
  set +m
  wait "${pids[@]}" || problem checkpoint-unreadable "a file could not be read to its end"
  while IFS= read -r -d '' path; do
    problem checkpoint-different "$path has other content than the lock says"
  done < <(cat -- "$scratch"/*)
  rm -rf -- "$scratch"
  helpers=()
}

# gate: stops unless the checkpoint is complete and equal to the lock. A full check leaves a sealed
# stamp, beside the files if it may write there, else with the logs; while names, sizes, times and
# inodes are as the stamp says, later runs do not read the content again. RECIPEC_GATE=full always does.
gate() {
  local directory stamp text how=full begun=$SECONDS
  local -a stamps
  checkpoint_directory
  directory=$REPLY
  stamps=("$directory/.recipec/${list#*:}.stamp" "$log_directory/.recipec/${list#*:}.stamp")
  [[ $layout == directory ]] || stamps[0]="$place/models--${repository//\//--}/.recipec/$commit-${list#*:}.stamp"
  survey
  if ((${#problems[@]} == 0)); then
    text="recipec stamp 1"$'\n'"$list"$'\n'"$directory"$'\n'"$identity"
    text+=$(printf '%s' "$text" | sha256sum | head -c 64)
    for stamp in "${stamps[@]}"; do
      if [[ $given_gate != full && -f $stamp && $(cat -- "$stamp") == "$text" ]]; then
        how=stamp
      fi
    done
    if [[ $how == full ]]; then
      say "checking every byte of $repository at $directory"
      hash_files
      for stamp in "${stamps[@]}"; do
        ((${#problems[@]} == 0)) || break
        # A stamp that can be written nowhere costs the next run a full check, no more.
        if { mkdir -p -- "${stamp%/*}" && printf '%s' "$text" >"$stamp.$$" && mv -f -- "$stamp.$$" "$stamp"; } 2>/dev/null; then
          break
        fi
      done
    fi
  fi
  gate_record "$directory" "$how" "$((SECONDS - begun))"
  if ((${#problems[@]})); then
    printf 'recipec:   %s\n' "${problems[@]:0:20}" >&2
    stop "$problem_reason" 4 "$repository at $directory is not what the lock names (${#problems[@]} findings)"
  fi
  say "$repository at $commit is complete and equal to the lock ($how, $((SECONDS - begun)) s)"
  [[ $layout == directory ]] || follow_branch
}

gate_record() {
  json_string "$repository"
  local text='{"repository":'$REPLY',"commit":"'$commit'","list":"'$list'","layout":"'$layout'"'
  json_string "$1"
  text+=',"path":'$REPLY',"check":"'$2'","seconds":'$3',"files":'${#files[@]}
  json_list ${extras[@]+"${extras[@]}"}
  text+=',"extras":'$REPLY
  json_list "${problems[@]:0:100}"
  text+=',"problems":'$REPLY'}'
  gate_texts+=("$text")
}

# An engine that is given a repository's name reads the branch `main` of the cache: it must stand
# at the locked commit when the engine starts, and stand there still when it serves.
follow_branch() {
  local branch=$place/models--${repository//\//--}/refs/main was=
  [[ ! -f $branch ]] || was=$(<"$branch")
  if [[ $was != "$commit" ]]; then
    mkdir -p -- "${branch%/*}"
    { printf '%s' "$commit" >"$branch.$$" && mv -f -- "$branch.$$" "$branch"; } 2>/dev/null \
      || stop checkpoint-moved 4 "refs/main of $repository is ${was:-absent} in $place and cannot be set to $commit"
  fi
}

still_there() {
  [[ $layout == cache ]] || return 0
  local branch=$place/models--${repository//\//--}/refs/main
  [[ -f $branch && $(<"$branch") == "$commit" ]] \
    || stop checkpoint-moved 4 "the engine moved refs/main of $repository away from $commit: give it HF_HUB_OFFLINE=1 or a staged path"
}
