#!/usr/bin/env python3
"""Writes sglang_fractions.json: which fraction of a device's memory SGLang's own Python code takes for weights and cache.

    sglang_fractions.py OUT.json

The functions that set mem_fraction_static are called on ServerArgs as it is without options, for devices of several sizes. A
model is only what they ask of one: whether it has MLA.
"""
import dataclasses
import json
import subprocess
import sys
import tempfile
import types

import sglang_pools

VERSIONS = '0.5.8', '0.5.10', '0.5.11', '0.5.14', '0.5.15', '0.5.17', '0.5.18', '0.5.19', '0.5.20', '0.5.22', '0.5.23'
MEMORY = 16376, 24564, 32607, 46068, 81559, 143771, 183359  # MiB
DEVICES = (1, 1), (2, 1), (8, 1), (4, 2)  # tensor-parallel, stages of a pipeline
PREFILLS = None, 512, 3000


def model(is_mla):
    from sglang.srt.configs.model_config import AttentionArch
    config = types.SimpleNamespace(architectures=['AForCausalLM'], model_type='a')
    return sglang_pools.Settings(attention_arch=AttentionArch.MLA if is_mla else AttentionArch.MHA, is_multimodal=False, hf_config=config,
                                 hf_text_config=config, is_piecewise_cuda_graph_disabled_model=False)


def before_hooks(args, module, memory):
    """Of versions whose ServerArgs has the functions"""
    kind = type(args)
    if hasattr(kind, '_handle_piecewise_cuda_graph'):
        kind._handle_piecewise_cuda_graph(args)
    if hasattr(kind, '_parse_cuda_graph_config'):
        kind._parse_cuda_graph_config(args)
        kind._apply_cuda_graph_compatibility(args)
    kind._handle_gpu_memory_settings(args, memory)
    return args.mem_fraction_static


def with_hooks(args, hook, memory):
    from sglang.srt.arg_groups import cuda_graph_hook, overrides
    hook.get_device_memory_capacity = lambda device: memory
    cuda_graph_hook.parse_cuda_graph_config(args)
    cuda_graph_hook.apply_cuda_graph_compatibility(args)
    hook.handle_gpu_memory_settings(args, *[memory][:hook.handle_gpu_memory_settings.__code__.co_argcount - 1])
    return overrides.resolving_view(args).mem_fraction_static


def one_version(root):
    import torch
    sglang_pools.prepare(root)
    from sglang.srt import server_args
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    for name in [name for name in sys.modules if name.startswith('sglang.srt.')]:
        for off in ('is_hip', 'is_npu', 'is_cpu', 'is_mps', 'is_xpu', 'is_musa'):
            if off in vars(sys.modules[name]):
                setattr(sys.modules[name], off, lambda: False)
        if 'is_cuda' in vars(sys.modules[name]):
            sys.modules[name].is_cuda = lambda: True
    try:
        from sglang.srt.arg_groups import memory_hook
        call, module = with_hooks, memory_hook
    except ImportError:
        call, module = before_hooks, server_args
    found = []
    for memory in MEMORY:
        for tp, pp in DEVICES:
            for is_mla in (False, True):
                for prefill in PREFILLS if tp == 1 else PREFILLS[:1]:
                    args = new_args(server_args.ServerArgs, is_mla, tp_size=tp, pp_size=pp, chunked_prefill_size=prefill)
                    found.append([memory, tp, pp, int(is_mla), prefill, call(args, module, memory)])
    print('\n' + json.dumps(found))


def new_args(kind, is_mla, **settings):
    """As it is before anything is resolved"""
    settings.update(model_path='a', device='cuda')
    if dataclasses.is_dataclass(kind):  # else nothing resolves as it is made
        args = kind.__new__(kind)
        for field in dataclasses.fields(kind):
            settings.setdefault(field.name, field.default if field.default_factory is dataclasses.MISSING else field.default_factory())
        vars(args).update(settings)
    else:
        args = kind(**settings)
    args._model_config = model(is_mla)
    args.get_model_config = lambda: args._model_config
    return args


def main():
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for version in VERSIONS:
            root = sglang_pools.unpack(version, folder)
            out = subprocess.run([sys.executable, __file__, root, version], check=True, stdout=subprocess.PIPE, text=True).stdout
            found[version] = json.loads(out.rstrip().rpartition('\n')[2])
    with open(sys.argv[1], 'w') as file:
        file.write('{\n%s\n}\n' % ',\n'.join('"%s": %s' % (version, json.dumps(of)) for version, of in found.items()))


if __name__ == '__main__':
    one_version(sys.argv[1]) if len(sys.argv) == 3 else main()
