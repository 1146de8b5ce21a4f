# Sourced by the stubs of the scheduler and the runtimes: records what they were started with, into
# the folder beside the one they lie in. `STUB_NUMBER` becomes the number of the call.
stub_folder=$(dirname -- "$(dirname -- "$(realpath -- "$0")")")/record
stub_name=$(basename -- "$0")
STUB_NUMBER=0
until (set -o noclobber && : >"$stub_folder/$stub_name.$STUB_NUMBER.pid") 2>/dev/null; do
  STUB_NUMBER=$((STUB_NUMBER + 1))
done
printf '%s\0' "$0" "$@" >"$stub_folder/$stub_name.$STUB_NUMBER.argv"
cat "/proc/$$/environ" >"$stub_folder/$stub_name.$STUB_NUMBER.env"
