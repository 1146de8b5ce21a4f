# --- Downloads -----------------------------------------------------------------------------------

# fetch NAME: downloads the checkpoint at its locked commit unless every file is there with its
# size, one run at a time on this node. The downloader resumes what an earlier run left.
fetch() {
  local directory lock base attempt file
  checkpoint_directory
  directory=$REPLY
  base=$place
  [[ $layout == cache ]] || base=${place%/}
  mkdir -p -- "$base" 2>/dev/null || stop storage-unwritable 5 "$base cannot be made on this node"
  file="$base/.recipec.lock"
  [[ $layout == cache ]] || file="$base.recipec.lock"
  need flock
  exec {lock}>"$file" || stop storage-unwritable 5 "$file cannot be written on this node"
  flock -w 21600 "$lock" || stop storage-busy 5 "$file is held by another run"
  survey
  if ((${#problems[@]})); then
    say "downloading $repository at $commit"
    for attempt in 1 2 3; do
      if fetch_once "$1" "$attempt"; then
        break
      fi
      ((attempt < 3)) || stop download-failed 5 "$repository at $commit could not be downloaded"
      pause 5
    done
    # What an earlier, killed download left of files that are complete now.
    if [[ $layout == cache ]]; then
      incomplete_blobs
      rm -f -- ${incomplete[@]+"${incomplete[@]}"}
    else
      find "$directory/.cache/huggingface/download" -name '*.incomplete' -type f -delete 2>/dev/null || true
    fi
  fi
  exec {lock}>&-
}

fetch_once() {
  local index begun=$SECONDS
  start "$1-$2" download no
  index=$started
  while running "$index"; do
    tick "$begun"
  done
  settle "$index"
  if [[ $REPLY != 0 ]]; then
    tail -n 20 -- "$log_directory/$stem.$1-$2.log" >&2 || true
    return 1
  fi
}
