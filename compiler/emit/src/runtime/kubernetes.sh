# --- Kubernetes ----------------------------------------------------------------------------------

# pod_begin SECRET ...: says of a pod what the machine that submits says elsewhere. A pod has a name
# and no number, so its number is a checksum of what tells it from every other.
pod_begin() {
  local name
  given_script=$(sha256sum <"${BASH_SOURCE[0]}")
  given_script=sha256:${given_script%% *}
  given_gate=${RECIPEC_GATE:-stamp}
  now
  given_started=$REPLY
  given_node=${RECIPEC_NODE:-}
  RUNNER_NAME=${RECIPEC_RUN:-}
  hole_job=$(cksum <<<"${RECIPEC_POD:-}")
  hole_job=${hole_job%% *}
  # The cluster adds its own variables, the Job adds these; the others are the image's.
  for name in $(compgen -e); do
    case " $* KUBERNETES_ RECIPEC_ HOSTNAME PWD OLDPWD SHLVL _ HOME PATH " in
      *" $name "*) ;;
      *) [[ $name == KUBERNETES_* || $name == RECIPEC_* ]] || given_image_variables+=" $name" ;;
    esac
  done
}
