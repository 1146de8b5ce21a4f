# --- Docker --------------------------------------------------------------------------------------

container_name=''

# pull: makes sure that the pinned image is there, by digest, and asks the daemon what it has.
pull() {
  local line
  need docker
  docker image inspect --format '{{.Id}}' "$image_reference" >/dev/null 2>&1 \
    || attend docker pull --quiet "$image_reference" >/dev/null \
    || stop image-unreachable 5 "$image_reference could not be pulled"
  given_image_seen=
  while IFS= read -r line; do
    [[ $line != "$image_reference" ]] || given_image_seen=$line
  done < <(docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$image_reference")
  [[ -n $given_image_seen ]] || stop image-different 4 "the daemon does not know its image as $image_reference"
  given_image_seen+=" $(docker image inspect --format '{{.Id}}' "$image_reference")"
  given_image_variables=
  while IFS= read -r line; do
    if [[ $line =~ ^([A-Za-z_][A-Za-z0-9_]*)= ]]; then
      given_image_variables+=" ${BASH_REMATCH[1]}"
    fi
  done < <(docker image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$image_reference")
}

# release: ends the container, which lets the part in it write its evidence.
release() {
  dismiss
  [[ -n $container_name ]] || return 0
  docker stop --time 40 "$container_name" >/dev/null 2>&1
  docker rm --force "$container_name" >/dev/null 2>&1
  if [[ -n $step_pid ]]; then
    wait "$step_pid" 2>/dev/null
  fi
}
