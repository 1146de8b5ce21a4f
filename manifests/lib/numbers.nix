# Small arithmetic and tables, without branches: a table lists what was measured, `otherwise` is
# what holds for every point that nobody listed.
rec {
  min = a: b: builtins.head (builtins.sort builtins.lessThan [ a b ]);
  max = a: b: builtins.head (builtins.sort (x: y: y < x) [ a b ]);

  # Rounds the quotient up.
  ceilDiv = a: b: (a + b - 1) / b;

  # Looks `key` up in `rows`.
  table = { key, rows, otherwise }: rows.${toString key} or otherwise;
}
