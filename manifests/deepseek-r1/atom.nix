# DeepSeek-R1-0528 on ATOM and AMD's MI355X, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  model = import ../lib/models/deepseek-r1.nix;
  atom = import ../lib/atom.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "atom";
    # The engine brings its checkpoint into the hub cache by itself.
    download = "engine";
    quantization = { kvCache = "fp8"; };
    targets = [ "mi355x" ];
    client = harness.servingClient { backend = "vllm"; };
    eval = harness.lmEval { };
    harness = harness.source;
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  context = point: atom.context point // atom.contextOfEvaluations point;

  plain = atom.serve (point: {
    args = context point // { block-size = 16; };
    env = atom.oneThread;
  });
in
{
  "dsr1-fp4-mi355x-atom" = base // {
    image = "rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom20260511";
    model = model.mxfp4Preview;
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 256; }; }
      { tp = 8; conc = [ 4 ]; }
    ];
    serve = plain;
  };

  "dsr1-fp4-mi355x-atom-mtp" = base // {
    image = "rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom20260511";
    model = model.mxfp4;
    speculative = { method = "mtp"; steps = 1; };
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 256; }; } ];
    serve = atom.serve (point: {
      args = context point;
      env = atom.oneThread // { AMDGCN_USE_BUFFER_OPS = 1; };
    });
  };

  "dsr1-fp8-mi355x-atom" = base // {
    image = "rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom20260511";
    model = model.fp8;
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 128; }; } ];
    serve = plain;
  };

  # The context is the checkpoint's own.
  "dsr1-fp8-mi355x-atom-mtp" = base // {
    image = "rocm/atom:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.3";
    model = model.fp8;
    speculative = { method = "mtp"; steps = 3; };
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 256; }; } ];
    serve = atom.serve (point: {
      args = atom.contextOfEvaluations point // atom.splitAttention point // { no-enable_prefix_caching = true; };
      env = atom.oneThread;
    });
  };
}
