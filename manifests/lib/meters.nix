# What measures the GPUs beside a run, once a second.
{
  nvidia = {
    program = [ "nvidia-smi" ];
    args = {
      query-gpu = "timestamp,index,power.draw,temperature.gpu,clocks.current.sm,clocks.current.memory,utilization.gpu,utilization.memory";
      format = "csv";
      loop = 1;
      filename = "gpu_metrics.csv";
    };
  };

  amd = {
    program = [ "amd-smi" "metric" ];
    args = {
      power = true;
      clock = true;
      temperature = true;
      usage = true;
      watch = 1;
      csv = true;
      file = "gpu_metrics.csv";
    };
  };
}
