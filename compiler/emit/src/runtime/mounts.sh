# --- Mounts --------------------------------------------------------------------------------------

make_sources() {
  local path
  for path; do
    [[ -e $path ]] || mkdir -p -- "$path" || stop storage-unwritable 5 "the mount source $path cannot be made on this node"
  done
}

# require_sources: says which path of a mount is missing before the container start fails on it.
require_sources() {
  local path
  for path; do
    [[ -e $path ]] || stop mount-missing 5 "the mount source $path is not on this node"
  done
}
