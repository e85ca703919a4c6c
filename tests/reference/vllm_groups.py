#!/usr/bin/env python3
"""What vLLM's own kv_cache_utils makes of layers: groups, blocks, and the lines of its log.

usage: vllm_groups.py VERSION SDIST >> tests/data/vllm-groups.tsv

SDIST is vLLM's source distribution, unpacked (pip download --no-deps --no-binary :all: vllm==0.24.0). Nothing else
of it is imported than the two files that are judged: torch and the rest are empty modules."""
import dataclasses
import importlib.util
import os
import re
import sys
import types

class Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {"__init__": lambda self, *a, **k: None})
        setattr(self, name, made)
        return made

class Finder:
    """Has any attribute: another empty module."""
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("vllm", "torch", "typing_extensions", "transformers", "numpy", "zmq", "msgspec", "cbor2", "xxhash"):
            return importlib.util.spec_from_loader(name, self, is_package=True)
    def create_module(self, spec):
        return Stub(spec.name)
    def exec_module(self, module):
        module.__path__ = []

SIZES = {"bfloat16": 2, "uint8": 1, "float32": 4, "float16": 2}
lines = []

def load(root, name):
    path = f"{root}/{name.replace('.', '/')}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

def prepare(root):
    sys.meta_path.append(Finder())
    import typing
    typing_extensions = __import__("typing_extensions")
    typing_extensions.Self = typing.Self
    load(root, "vllm.utils.math_utils")
    import torch
    torch.dtype = str
    torch.float32 = "float32"
    utils = __import__("vllm.utils.torch_utils", fromlist=["x"])
    utils.get_dtype_size = SIZES.__getitem__
    memory = __import__("vllm.utils.mem_utils", fromlist=["x"])
    memory.format_gib = lambda b: round(b / 2**30, 2)
    logger = types.SimpleNamespace(**{n: lambda *a, **k: lines.append(a[0] % a[1:]) for n in
        ("info", "info_once", "warning", "warning_once", "debug")})
    __import__("vllm.logger", fromlist=["x"]).init_logger = lambda name: logger
    registry = __import__("vllm.v1.attention.backends.registry", fromlist=["x"])
    registry.MambaAttentionBackendEnum = types.SimpleNamespace(MAMBA2="mamba2")
    registry = __import__("vllm.v1.kv_cache_spec_registry", fromlist=["x"])
    if os.path.exists(f"{root}/vllm/v1/kv_cache_layout.py"):
        load(root, "vllm.v1.kv_cache_layout")
    interface = load(root, "vllm.v1.kv_cache_interface")
    registry.KVCacheSpecRegistry.check_kv_cache_spec_registry = staticmethod(lambda specs: None)
    registry.KVCacheSpecRegistry.get_uniform_type_base_spec = staticmethod(
        lambda spec: interface.FullAttentionSpec if isinstance(spec, interface.FullAttentionSpec) else type(spec))
    utilities = load(root, "vllm.v1.core.kv_cache_utils")
    if hasattr(utilities, "get_kv_cache_configs"):
        return interface, utilities, utilities
    # since 0.33
    layout = __import__("vllm.v1.hisparse.layout", fromlist=["x"])
    layout.get_hisparse_kv_cache_groups = lambda *a: None
    builder = load(root, "vllm.v1.core.kv_cache_config_builder")
    planning = load(root, "vllm.v1.core.kv_cache_planning")
    builder.get_kv_cache_config_builder = lambda config: planning.DefaultKVCacheConfigBuilder()
    return interface, utilities, planning

def config(length, step, layout):
    new = types.SimpleNamespace
    return new(model_config=new(max_model_len=length, original_max_model_len=length, supports_kv_cache_grouping=False),
        parallel_config=new(decode_context_parallel_size=1, prefill_context_parallel_size=1, tensor_parallel_size=1),
        scheduler_config=new(max_num_batched_tokens=step, disable_hybrid_kv_cache_manager=False,
            max_num_encoder_input_tokens=0),
        cache_config=new(num_gpu_blocks_override=None, mamba_cache_mode="align", prefix_cache_retention_interval=None,
            get_resolved_kv_cache_layout=lambda: layout),
        attention_config=new(hisparse_config=None), num_prefill_lookahead_tokens=0, device_config=new(device_type="cuda"),
        max_in_flight_tokens=2 * step,  # read since 0.26: asynchronous scheduling
        speculative_config=None, kv_transfer_config=None)

def main(version, root):
    i, utilities, planning = prepare(root)
    def full(heads, width, dtype="bfloat16", block=16):
        return i.FullAttentionSpec(block_size=block, num_kv_heads=heads, head_size=width, dtype=dtype)
    def window(heads, width, tokens, dtype="bfloat16"):
        return i.SlidingWindowSpec(block_size=16, num_kv_heads=heads, head_size=width, dtype=dtype, sliding_window=tokens)
    def state(shapes, block, page, speculated=0):
        more = {"num_prefill_checkpoint_blocks": 1,  # mamba/gdn: since 0.33
            "num_speculative_blocks": speculated}
        known = {f.name for f in dataclasses.fields(i.MambaSpec)}
        return i.MambaSpec(block_size=block, shapes=shapes, dtypes=("bfloat16", "float32"), page_size_padded=page,
            **{key: value for key, value in more.items() if key in known})
    def made(of, **given):
        """A spec with what this version knows of `given`; it called tokens_per_state compress_ratio."""
        known = {f.name for f in dataclasses.fields(of)}
        if "tokens_per_state" not in known:
            given["compress_ratio"] = given.pop("tokens_per_state")
        return of(num_kv_heads=1, alignment=576, **{key: value for key, value in given.items() if key in known})
    def v4(ratio):
        """The caches of one layer (models/deepseek_v4: attention.py, compressor.py; sparse_swa.py)."""
        ds = {"cache_dtype_str": "fp8_ds_mla", "model_version": "deepseek_v4", "state_content_bytes": 584, "dtype": "uint8"}
        def compressor(width, block):
            tokens = 8 if ratio == 4 else 128
            return made(i.SlidingWindowMLASpec, block_size=block, head_size=width, dtype="float32",
                sliding_window=tokens, tokens_per_state=1)
        caches = [made(i.SlidingWindowMLASpec, block_size=64, head_size=512, sliding_window=128, tokens_per_state=1, **ds)]
        if ratio:
            caches.append(made(i.MLAAttentionSpec, block_size=256, head_size=512, tokens_per_state=ratio, **ds))
            caches.append(compressor(2048, 4) if ratio == 4 else compressor(1024, 8))
        if ratio == 4:
            caches.append(made(i.MLAAttentionSpec, block_size=256, head_size=132, tokens_per_state=4, dtype="uint8"))
            caches.append(compressor(512, 4))
        return caches
    def layers(*ratios):
        return [cache for ratio in ratios for cache in v4(ratio)]
    delta = state(((10240, 3), (48, 128, 128)), 784, 784 * 4096)
    models = [  # layers as the config.json has them, and how often
        ("gemma-4-31b", [window(16, 256, 1024)] * 5 + [full(4, 512)], 10, 262144),
        ("gpt-oss-120b", [window(8, 64, 128), full(8, 64)], 18, 131072),
        ("gpt-oss-20b", [window(8, 64, 128), full(8, 64)], 12, 131072),
        ("gemma-2-27b", [window(16, 128, 4096), full(16, 128)], 23, 8192),
        ("llama-3-8b", [full(8, 128)], 32, 8192),
        ("mistral-7b", [window(8, 128, 4096)], 32, 32768),
        ("qwen3.5-27b", [delta] * 3 + [full(4, 256, block=784)], 16, 262144),
    ]
    draft = [full(8, 128)] * 32  # of Llama 3 8B
    for name, pattern, times in (("llama-3-70b", [full(8, 128)], 80), ("gemma-4-31b", models[0][1], 10),
            ("gpt-oss-120b", models[1][1], 18)):
        models.append((f"{name} --draft llama-3-8b", pattern * times + draft, 1, 8192))
    delta = state(((10240, 4), (48, 128, 128)), 800, 800 * 4096, 1)
    models.append(("qwen3.5-27b --draft llama-3-8b", ([delta] * 3 + [full(4, 256, block=800)]) * 16 + [full(8, 128, block=800)] * 32, 1, 8192))
    flash = (0, 0, *[4, 128] * 20, 4)
    for length in (65536, 1048576) if hasattr(i, "SlidingWindowMLASpec") else ():
        models.append(("deepseek-v4-flash", layers(*flash), 1, length))
        models.append(("deepseek-v4-flash --mtp", layers(*flash, 0), 1, length))
        models.append(("tests/data/deepseek-v4-61-layers.json", layers(128, 128, *[4, 128] * 29, 4), 1, length))
    for name, pattern, times, length in models:
        # attention/backends/utils.py, and mla/indexer.py of V4's
        layout = hasattr(i, "KVCacheLayout") and (i.KVCacheLayout.BLHNC if "v4" in name else i.KVCacheLayout.LBNHC)
        for step in (2048, 8192):
            made_of = config(length, step, layout)
            specs = {f"layers.{n}": spec for n, spec in enumerate(pattern * times)}
            lines.clear()
            given = [made_of, [specs], [48 << 30]]
            if planning is not utilities:
                given.append(planning.get_global_kv_cache_groups(made_of, [specs]))
            got = planning.get_kv_cache_configs(*given)[0]
            log = " ".join(line for line in lines if "KV cache size" in line or "concurrency" in line)
            if not log:  # since 0.28 the scheduler prints it
                log = "size: {0[0]:,} tokens request: {0[1]:.2f}x".format(utilities.get_kv_cache_capacity(made_of, got))
            tokens, times_fit = re.search("size: ([0-9,]+) tokens", log)[1], re.search("request: ([0-9.]+)x", log)[1]
            print(version, name, step, length, tokens, times_fit, sep="\t")

main(*sys.argv[1:])
