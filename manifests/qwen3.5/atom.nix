# Qwen3.5-397B-A17B on ATOM and AMD's MI355X, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  qwen = import ../lib/models/qwen3.5.nix;
  atom = import ../lib/atom.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "atom";
    # The engine brings its checkpoint into the hub cache by itself.
    download = "engine";
    quantization = { kvCache = "fp8"; };
    targets = [ "mi355x" ];
    client = harness.servingClient { backend = "vllm"; more = { trust-remote-code = true; }; };
    eval = harness.lmEval { };
    harness = harness.source;

    # Evaluations run with the context of the measured points, which has room for them.
    serve = atom.serve (point: {
      args = atom.context point // {
        gpu-memory-utilization = 0.9;
        trust-remote-code = true;
      };
      env = atom.oneThread;
    });
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  all = { from = 4; to = 256; };
in
{
  "qwen3.5-fp8-mi355x-atom" = base // {
    image = "rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom20260511";
    model = qwen.fp8;
    scenarios = fixedSequence [
      { tp = 2; conc = all; }
      { tp = 4; conc = all; }
      { tp = 8; conc = all; }
    ];
  };

  "qwen3.5-fp8-mi355x-atom-mtp" = base // {
    image = "rocm/atom:rocm7.2.2_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.2.post";
    model = qwen.fp8;
    speculative = { method = "mtp"; steps = 3; };
    scenarios = fixedSequence [
      { tp = 4; conc = all; }
      { tp = 8; conc = all; }
    ];
  };

  "qwen3.5-fp4-mi355x-atom" = base // {
    image = "rocm/atom:rocm7.2.2_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.2.post";
    model = qwen.mxfp4;
    scenarios = fixedSequence [
      { tp = 2; conc = all; }
      { tp = 4; conc = { from = 4; to = 16; }; }
    ];
  };
}
