
# What the parts keep. `given_` is handed from part to part, `hole_` is what only the run knows.
given_gate=stamp given_script='' given_image_seen='' given_image_variables='' given_node='' given_started=''
hole_job='' hole_logdir='' stopped='' step_pid='' script='' evidence_path='' log_directory=''
host_log_directory='' attended='' helpers=() held='' caught=''
argv=() declared=() secrets=() unset_names=() environment=() inherited=() handed=()
process_names=() process_kinds=() process_critical=() process_pids=() process_texts=()
process_started=() process_ready=() process_ended=() process_exit=() started=''
repository='' commit='' list='' layout='' place='' files=()
problems=() problem_reason='' extras=() identity='' incomplete=() gate_texts=()
