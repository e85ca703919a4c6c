build: 9538 (0a1b2c3d) with GNU 10.2.1 for Linux x86_64
load_tensors:   CPU_Mapped model buffer size = 15317.02 MiB
llama_context: n_seq_max     = 4
llama_context: n_ctx         = 8192
llama_context: n_ubatch      = 512
llama_context: kv_unified    = true
llama_context:        CPU  output buffer size =     1.96 MiB
llama_kv_cache:        CPU KV buffer size =  1024.00 MiB
llama_kv_cache: size = 1024.00 MiB (  8192 cells,  32 layers,  4/1 seqs), K (f16):  512.00 MiB, V (f16):  512.00 MiB
sched_reserve:        CPU compute buffer size =   124.01 MiB
