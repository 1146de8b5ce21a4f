# Sizes of memory that know their unit and whose they are: `rank` of each rank, `node` of all ranks on
# a node, `all` of all together. Options that are sizes take no other numbers, so a size that is
# meant otherwise has to be converted, or to be called something else by name.
let
  bytes = { B = 1; MB = 1000000; GB = 1000000000; MiB = 1048576; GiB = 1073741824; };
in
rec {
  size = of: unit: amount: { _size = { inherit of unit amount; }; };

  # The number alone, for arithmetic within one unit.
  amount = size: size._size.amount;

  # The same memory in another unit, rounded down.
  to = unit: { _size }: size _size.of unit (_size.amount * bytes.${_size.unit} / bytes.${unit});

  # The share of each of so many ranks, rounded down.
  each = ranks: { _size }: size "rank" _size.unit (_size.amount / ranks);

  # The number of one unit taken for as many of another: what some of upstream's scripts do.
  takenFor = unit: { _size }: size _size.of unit _size.amount;

  # What is another's taken as it is for each rank's, or for all: likewise.
  takenOf = of: { _size }: size of _size.unit _size.amount;
}
