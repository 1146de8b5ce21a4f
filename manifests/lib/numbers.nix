# Small arithmetic and tables, without branches: a table lists what was measured, `otherwise` is
# what holds for every point that nobody listed.
rec {
  min = a: b: builtins.head (builtins.sort builtins.lessThan [ a b ]);
  max = a: b: builtins.head (builtins.sort (x: y: y < x) [ a b ]);

  # Rounds the quotient up.
  ceilDiv = a: b: (a + b - 1) / b;

  # The least multiple of `step` that is not below `n`.
  roundUp = step: n: ceilDiv n step * step;

  # One of `parts` equal shares of `n`; all of it where there is too little to share.
  shareOf = parts: n: table { key = n / parts; rows = { "0" = n; }; otherwise = n / parts; };

  # `step`, twice `step`, and so on up to `limit`.
  multiples = step: limit: builtins.genList (n: (n + 1) * step) (limit / step);

  # The fields of `set` where the condition holds, and none elsewhere.
  when = condition: set: table { key = condition; rows = { "1" = set; }; otherwise = { }; };

  # Looks `key` up in `rows`.
  table = { key, rows, otherwise }: rows.${toString key} or otherwise;
}
