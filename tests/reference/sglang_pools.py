#!/usr/bin/env python3
"""Writes sglang_pools.json: how many tokens SGLang's own Python gives the cache of a model in so many bytes.

    sglang_pools.py OUT.json

The wheels of some versions are loaded without their dependencies. ModelConfig reads the config.json, and the classes that size
the pools do so; what of SGLang needs a GPU, and all that isn't installed, is empty modules.
"""
import copy
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types

VERSIONS = '0.5.9', '0.5.14', '0.5.18', '0.5.23'
BYTES = 1 << 35
MODELS = ('llama-3-8b', 'llama-3.1-405b', 'mistral-7b', 'mixtral-8x22b', 'qwen2.5-72b', 'qwen3-8b', 'qwen3-235b-a22b', 'gemma-2-27b',
          'gemma3', 'gemma-4-31b', 'gpt-oss-20b', 'gpt-oss-120b', 'deepseek-v2', 'deepseek-v3', 'deepseek_v32', 'glm-4.5-air', 'glm-5',
          'kimi-k2.5', 'minimax-m2', 'llama-4-maverick', 'phi3', 'cohere2', 'exaone4', 'olmo3', 'longcat_flash', 'minicpm3', 'afmoe')
RECURRENT = 'kimi-linear-48b-a3b', 'qwen3-next-80b-a3b', 'qwen3.5-27b', 'qwen3.5-35b-a3b', 'falcon_h1'
EMPTY = ('sglang.kernels', 'sglang.jit_kernel', 'sglang.srt.layers.quantization', 'sglang.srt.entrypoints', 'sglang.srt.parser',
         'sglang.srt.function_call', 'sglang.srt.managers', 'sglang.srt.multimodal', 'sglang.srt.sampling', 'sglang.srt.utils.custom_op')


# ---- empty modules ----

class Kind(type):
    """A class of which all may be asked"""
    def __getattr__(cls, name):
        return empty(name)

    def __or__(cls, other):
        return cls

    __ror__ = __or__


def empty(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return Kind(name, (), {'__init__': lambda self, *a, **k: None, '__call__': lambda self, *a, **k: a[0] if a and callable(a[0]) else self,
                           '__getattr__': lambda self, key: empty(key)(), '__class_getitem__': classmethod(lambda cls, item: cls),
                           '__bool__': lambda self: False, '__iter__': lambda self: iter(()), '__mro_entries__': lambda self, b: (object,)})


class Module(types.ModuleType):
    def __getattr__(self, name):
        setattr(self, name, empty(name))
        return getattr(self, name)


class Finder:
    """Finds the modules that are to be empty, or those that only SGLang asks for and nobody has."""
    def __init__(self, names=None):
        self.names, self.tops = names, set()

    def find_spec(self, name, path=None, target=None):
        top = name.split('.')[0]
        if self.names:
            wanted = any(name == one or name.startswith(one + '.') for one in self.names)
        elif top in self.tops:
            wanted = True
        else:
            frame = sys._getframe(1)
            while 'importlib' in frame.f_code.co_filename:
                frame = frame.f_back
            wanted = top != 'sglang' and top not in sys.modules and '/sglang/' in frame.f_code.co_filename
            self.tops |= {top} if wanted else set()
        return importlib.util.spec_from_loader(name, self, is_package=True) if wanted else None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


class Settings(types.SimpleNamespace):
    """What isn't set is off."""
    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)


SETTINGS = Settings(attn_dcp_size=1, attn_cp_size=1, swa_full_tokens_ratio=.8, page_size=1, pp_size=1, dp_size=1, kv_cache_dtype='auto',
                    kernel=Settings())


def set_runtime():
    """SGLang asks functions for its settings, since 0.5.15 or so."""
    try:
        from sglang.srt import runtime_context
    except ImportError:
        return
    for name in ('parallel', 'memory', 'schedule', 'model', 'exec', 'disagg', 'spec', 'server_args'):
        setattr(runtime_context, 'get_' + name, lambda: SETTINGS)


def prepare(root):
    """The modules of one version: its ModelConfig, and what sizes pools"""
    import torch._dynamo  # whole, before anything is empty
    import torch.distributed
    import transformers
    from transformers import AutoModel, AutoModelForCausalLM, AutoProcessor, PreTrainedModel, ProcessorMixin
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    register = type(CONFIG_MAPPING).register
    type(CONFIG_MAPPING).register = lambda self, key, value, exist_ok=False: register(self, key, value, exist_ok=True)
    sys.meta_path.insert(0, Finder(EMPTY))
    sys.meta_path.append(Finder())
    sys.modules['sglang'] = types.ModuleType('sglang')
    sys.modules['sglang'].__path__ = [root + '/sglang']
    set_runtime()
    from sglang.srt.configs import model_config
    for name, module in (('Qwen3NextConfig', 'qwen3_next'), ('Qwen3_5TextConfig', 'qwen3_5'), ('Qwen3_5MoeTextConfig', 'qwen3_5')):
        if os.path.exists('%s/sglang/srt/configs/%s.py' % (root, module)):  # as published; transformers drops it
            getattr(importlib.import_module('sglang.srt.configs.' + module), name).full_attention_interval = 4
    model_config.ModelConfig._verify_quantization = lambda self: None
    names = [name for name in ('pool_configurator', 'model_runner_kv_cache_mixin')
             if os.path.exists('%s/sglang/srt/model_executor/%s.py' % (root, name))]
    try:
        from sglang.srt.configs.hybrid_arch import mambaish_config
    except ImportError:  # of older versions, a part of what needs a GPU
        mambaish_config = None
    return model_config, importlib.import_module('sglang.srt.model_executor.' + names[0]), mambaish_config


# ---- one version ----

def runner(model_config, config, dtype, mamba):
    """As much of a model runner as the sizes of pools take"""
    n = config.num_hidden_layers
    no_draft = types.SimpleNamespace(**{name: lambda: name == 'is_none' for name in (
        'is_none', 'is_eagle', 'is_standalone', 'is_dflash', 'is_dflash_family')})
    layers = {'start_layer': 0, 'end_layer': n, 'num_effective_layers': n,
              'full_attention_layer_ids': getattr(config, 'full_attention_layer_ids', None),
              'swa_attention_layer_ids': getattr(config, 'swa_attention_layer_ids', None)}
    window = getattr(config, 'sliding_window_size', None) or 128  # its size isn't used where pools are dealt out by a ratio
    return Settings(
        model_config=config, kv_cache_dtype=dtype, kv_cache_dtype_str='auto', server_args=SETTINGS, spec_algorithm=no_draft,
        use_mla_backend=config.attention_arch == model_config.AttentionArch.MLA, is_hybrid_swa=bool(getattr(config, 'is_hybrid_swa', False)),
        layer_info=types.SimpleNamespace(**layers), mambaish_config=mamba, page_size=1, pp_size=1, dp_size=1,
        sliding_window_size=window, fused_entry_bytes=lambda kind: None, **layers)


def sizes(pools, of):
    """Tokens of layers that see all, and of those with a window"""
    if hasattr(pools, 'create_memory_pool_configurator'):
        found = pools.create_memory_pool_configurator(of).calculate_pool_sizes(BYTES, 1)
        return found.max_total_num_tokens, found.swa_max_total_num_tokens
    mixin = pools.ModelRunnerKVCacheMixin
    of.max_total_num_tokens = BYTES // mixin.get_cell_size_per_token(of, of.num_effective_layers)
    of.swa_max_total_num_tokens = None
    if of.is_hybrid_swa:
        mixin.set_num_tokens_hybrid_swa(of)
    return of.max_total_num_tokens, of.swa_max_total_num_tokens


def answer(modules, folder, tp):
    import torch
    model_config, pools, find_mamba = modules
    config = model_config.ModelConfig(folder, dtype='bfloat16')
    mamba = find_mamba(config) if find_mamba else None
    SETTINGS.attn_tp_size = SETTINGS.tp_size = tp
    pools.get_attention_tp_size = lambda: tp
    tokens, window = sizes(pools, runner(model_config, config, torch.bfloat16, mamba))
    state = mamba.mamba2_cache_params.mamba_cache_per_req if mamba else None
    return {key: value for key, value in (('tokens', tokens), ('window_tokens', window), ('state', state)) if value}


def one_version(root, folder):
    modules, found = prepare(root), {}
    for name in MODELS + (RECURRENT if modules[-1] else ()):
        for tp in (1, 8):
            try:
                given = answer(modules, '%s/%s' % (folder, name), tp)
            except Exception as error:
                given = {'refused': '%s: %s' % (type(error).__name__, str(error).split('\n')[0][:100])}
            found['%s tp %d' % (name, tp)] = given
    print('\n' + json.dumps(found))


# ---- all ----

def completed(config, defaults):
    """With the defaults that transformers leaves out, and without what it adds as null"""
    return {key: completed(config.get(key, value), value) if isinstance(value, dict) else config.get(key, value)
            for key, value in defaults.items() if config.get(key, value) is not None}


def write_configs(folder):
    from transformers import AutoConfig
    with open('tests/reference/transformers_tensors.json') as file:
        cases = {case['name']: case for case in json.load(file)['cases']}
    for name in MODELS + RECURRENT:
        config = {key: value for key, value in cases[name]['config'].items() if '__float__' not in str(value)}
        head, = [one for one in cases[name]['classes'] if one.endswith(('ForCausalLM', 'ForConditionalGeneration'))][:1]
        os.mkdir('%s/%s' % (folder, name))
        with open('%s/%s/config.json' % (folder, name), 'w') as file:
            json.dump(dict(completed(config, AutoConfig.for_model(**copy.deepcopy(config)).to_dict()), architectures=[head.replace('Kimi_K', 'KimiK')], dtype='bfloat16', torch_dtype='bfloat16'), file)


def unpack(version, folder):
    """The path of a version's modules: of its wheel in $SGLANG_WHEELS, or downloaded"""
    root = '%s/sglang-%s' % (folder, version)
    wheel = glob.glob('%s/sglang-%s-*.whl' % (os.environ.get('SGLANG_WHEELS', root), version))
    if not wheel:
        subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', root, 'sglang==' + version], check=True)
        wheel = glob.glob(root + '/*.whl')
    subprocess.run([sys.executable, '-m', 'zipfile', '-e', wheel[0], root], check=True)
    return root


def main():
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        write_configs(folder)
        for version in VERSIONS:
            root = unpack(version, folder)
            out = subprocess.run([sys.executable, __file__, root, folder], check=True, stdout=subprocess.PIPE, text=True).stdout
            found[version] = json.loads(out.rstrip().rpartition('\n')[2])
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'bytes': BYTES, 'versions': found}, indent=1) + '\n')


if __name__ == '__main__':
    one_version(*sys.argv[1:]) if len(sys.argv) == 3 else main()
