# Values that are more than plain data: how they are written down for the compiler.
#
# A hole (`run.runner`, `run.home`, ...) is a value that only the run knows. Recipes and targets
# get holes as arguments and join them with text by `word`. They are typed data, so any string in
# a manifest passes unchanged.
{
  # Joins texts, numbers and holes to one argument.
  word = pieces: { _word = pieces; };

  # Gives an option once for each value: `--name a --name b`. A plain list is one option with
  # several values: `--name a b`.
  repeat = values: { _repeat = values; };

  # Gives a list or a scalar as JSON text. A plain set is JSON without being told.
  json = value: { _json = value; };

  # A port of the job's own: jobs that share a node do not meet. The job's number, reduced to
  # `count` ports, is added to `first`.
  jobPort = first: count: { _run = "port"; base = first; modulus = count; };

  # The port `distance` above another.
  portAfter = distance: port: {
    int = port + distance;
    set = port // { base = port.base + distance; };
  }.${builtins.typeOf port};
}
