#!/usr/bin/env python3
"""What vLLM's own kv_cache_utils makes of layers: groups, blocks, and the lines of its log.

usage: vllm_groups.py VERSION SDIST >> tests/data/vllm-groups.tsv

SDIST is vLLM's source distribution, unpacked (pip download --no-deps --no-binary :all: vllm==0.24.0). Nothing else
of it is imported than the two files that are judged: torch and the rest are empty modules."""
import importlib.util
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
    interface = load(root, "vllm.v1.kv_cache_interface")
    registry.KVCacheSpecRegistry.check_kv_cache_spec_registry = staticmethod(lambda specs: None)
    registry.KVCacheSpecRegistry.get_uniform_type_base_spec = staticmethod(
        lambda spec: interface.FullAttentionSpec if isinstance(spec, interface.FullAttentionSpec) else type(spec))
    utilities = load(root, "vllm.v1.core.kv_cache_utils")
    return interface, utilities

def config(length, step):
    new = types.SimpleNamespace
    return new(model_config=new(max_model_len=length, original_max_model_len=length),
        parallel_config=new(decode_context_parallel_size=1, prefill_context_parallel_size=1),
        scheduler_config=new(max_num_batched_tokens=step, disable_hybrid_kv_cache_manager=False,
            max_num_encoder_input_tokens=0),
        cache_config=new(num_gpu_blocks_override=None, mamba_cache_mode="align"),
        max_in_flight_tokens=2 * step,  # read since 0.26: asynchronous scheduling
        speculative_config=None, kv_transfer_config=None)

def main(version, root):
    i, u = prepare(root)
    def full(heads, width, dtype="bfloat16", block=16):
        return i.FullAttentionSpec(block_size=block, num_kv_heads=heads, head_size=width, dtype=dtype)
    def window(heads, width, tokens, dtype="bfloat16"):
        return i.SlidingWindowSpec(block_size=16, num_kv_heads=heads, head_size=width, dtype=dtype, sliding_window=tokens)
    def state(shapes, block, page):
        return i.MambaSpec(block_size=block, shapes=shapes, dtypes=("bfloat16", "float32"), page_size_padded=page)
    delta = state(((10240, 3), (48, 128, 128)), 784, 784 * 4096)
    models = {  # layers as the config.json has them, and how often
        "gemma-4-31b": ([window(16, 256, 1024)] * 5 + [full(4, 512)], 10, 262144),
        "gpt-oss-120b": ([window(8, 64, 128), full(8, 64)], 18, 131072),
        "gpt-oss-20b": ([window(8, 64, 128), full(8, 64)], 12, 131072),
        "gemma-2-27b": ([window(16, 128, 4096), full(16, 128)], 23, 8192),
        "llama-3-8b": ([full(8, 128)], 32, 8192),
        "mistral-7b": ([window(8, 128, 4096)], 32, 32768),
        "qwen3.5-27b": ([delta] * 3 + [full(4, 256, block=784)], 16, 262144),
    }
    for name, (pattern, times, length) in models.items():
        for step in (2048, 8192):
            specs = {f"layers.{n}": spec for n, spec in enumerate(pattern * times)}
            lines.clear()
            got = u.get_kv_cache_configs(config(length, step), [specs], [48 << 30])[0]
            log = " ".join(line for line in lines if "KV cache size" in line or "concurrency" in line)
            tokens, times_fit = re.search("size: ([0-9,]+) tokens", log)[1], re.search("request: ([0-9.]+)x", log)[1]
            print(version, name, step, length, tokens, times_fit, sep="\t")

main(*sys.argv[1:])
