# --- Importing the image -------------------------------------------------------------------------

# squash_valid: a squash file is what the lock names if it lists, and, where enroot noted what it
# imported, if that is the pinned image.
squash_valid() {
  [[ -s $squash ]] && unsquashfs -l "$squash" >/dev/null 2>&1 || return 1
  local line
  line=$(unsquashfs -cat "$squash" etc/rc 2>/dev/null | head -n 1) || line=
  [[ $line != '# enroot-provenance: '* || ${line#*: } == "$image_reference" ]]
}

# import_image: one import at a time into one file, and only of a file that is not there.
import_image() {
  local lock partial
  need enroot unsquashfs flock
  mkdir -p -- "${squash%/*}" 2>/dev/null || stop storage-unwritable 5 "${squash%/*} cannot be made on this node"
  exec {lock}>"$squash.lock" || stop storage-unwritable 5 "$squash.lock cannot be written on this node"
  flock -w 3600 "$lock" || stop storage-busy 5 "$squash.lock is held by another run"
  if squash_valid; then
    say "$squash is there"
  else
    say "importing $image_reference"
    partial="$squash.partial"
    rm -f -- "$partial"
    attend enroot import --output "$partial" "$image_reference" \
      || stop import-failed 5 "$image_reference could not be imported"
    mv -f -- "$partial" "$squash"
    squash_valid || stop image-different 4 "$squash is not $image_reference"
  fi
  exec {lock}>&-
}
