#!/usr/bin/env python3
"""Writes peers.json: what other calculators say of ten models: parameters, and bytes of the KV cache at 8,192 tokens in bf16.

    peers.py OUT.json

The scripts of EleutherAI/cookbook aren't a package: COOKBOOK in the environment names a checkout, else they are cloned. Configs and headers of checkpoints are those
of transformers_tensors.json; a program that asks the hub is given them in its place.
"""
import asyncio
import contextlib
import importlib
import importlib.metadata
import importlib.util
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import types
import warnings

import httpx2
from accelerate.commands import estimate
from accelerate.utils import calculate_maximum_sizes

from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import get_gpu_config_by_name, get_model_config_by_name
from transformers import AutoConfig

from tensors import expanded

hf_mem = importlib.import_module('hf_mem.run')

MODELS = ('gpt2', 'llama-3-8b', 'mistral-7b', 'gemma-2-27b', 'mixtral-8x22b', 'qwen3-235b-a22b', 'deepseek-v3', 'gpt-oss-120b',
          'qwen3-next-80b-a3b', 'glm-4.5-air')
TOKENS = 8192
NOT_PUBLISHED = [('deepseek-v3', 'head_dim')]  # which transformers adds


def header_of(tensors):
    header, at = {}, 0
    for kind, names in tensors.items():
        shape = [int(n) for n in kind.rpartition(' ')[2].split('x') if n]
        size = 2
        for n in shape:
            size *= n
        for name in (one for name in names for one in expanded(name)):
            header[name] = {'dtype': 'BF16', 'shape': shape, 'data_offsets': [at, at + size]}
            at += size
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text


# ---- the calculators: (parameters, bytes of the cache), None where it has no answer ----

def ask_hf_mem(case):
    def answer(request):
        path = request.url.path
        if path.startswith('/api/'):
            return httpx2.Response(200, json=[{'type': 'file', 'path': name} for name in ('config.json', 'model.safetensors')])
        if path.endswith('config.json'):
            return httpx2.Response(200, json=case['config'])
        first, last = map(int, re.findall(r'\d+', request.headers['range']))
        return httpx2.Response(206, content=case['header'][first:last + 1])

    client = httpx2.AsyncClient
    httpx2.AsyncClient = lambda **options: client(transport=httpx2.MockTransport(answer))
    try:
        result = asyncio.run(hf_mem.arun(model_id='a/model', experimental=True, max_model_len=TOKENS,
                                         kv_cache_dtype='bfloat16'))
    finally:
        httpx2.AsyncClient = client
    return result.memory // 2, result.kv_cache


def ask_llm_analysis(case):
    model = get_model_config_by_name(case['folder'])
    analysis = LLMAnalysis(model, get_gpu_config_by_name('a100-sxm-80gb'), flops_efficiency=1, hbm_memory_efficiency=1)
    return int(analysis.get_num_params_total()), int(
        analysis.get_memory_kv_cache_per_layer(1, TOKENS, 2) * model.num_layers)


def ask_accelerate(case):
    estimate.verify_on_hub = lambda *_: types.SimpleNamespace(config=case['config'], library_name='transformers')
    return calculate_maximum_sizes(estimate.create_empty_model(case['folder'], 'transformers'))[0] // 4, None


def cookbook(folder):
    def ask(case):
        spec = importlib.util.spec_from_file_location('calc', folder + '/calc/calc_transformer_mem.py')
        calc = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(calc)
        heads = case['config'].get('num_key_value_heads', case['heads']) / case['heads']
        words = ['--hf_model_name_or_path', case['folder'], '--infer', '--sequence-length', str(TOKENS), '--kv-size-ratio', str(heads)]
        calc.convert_params = int  # in place of three digits
        spoken = io.StringIO()
        with contextlib.redirect_stdout(spoken):
            calc.calc_mem(calc.config_parser().parse_args(words))
        said = spoken.getvalue()
        return int(re.search(r'Number of Parameters: (\d+)', said)[1]), \
            round(float(re.search(r'KV Cache Memory: ([\d.]+) GiB', said)[1]) * 2 ** 30)
    return ask


def checkout(folder):
    """A checkout of the cookbook, and its date"""
    path = os.environ.get('COOKBOOK')
    if not path:
        path = folder + '/cookbook'
        subprocess.run(['git', 'clone', '-q', '--depth', '1', 'https://github.com/EleutherAI/cookbook', path], check=True)
    return path, subprocess.run(['git', '-C', path, 'log', '-1', '--format=%cs'], check=True, stdout=subprocess.PIPE,
                                text=True).stdout.strip()


# ---- all of them ----

def cases(folder):
    with open('tests/reference/transformers_tensors.json') as file:
        found = {case['name']: case for case in json.load(file)['cases']}
    for name in MODELS:
        classes = found[name]['classes']
        (head, of), = [(n, of) for n, of in classes.items() if n.endswith(('ForCausalLM', 'LMHeadModel'))]
        config = AutoConfig.for_model(**found[name]['config'], architectures=[head], dtype='bfloat16').to_dict()
        config = {key: value for key, value in config.items() if value is not None and (name, key) not in NOT_PUBLISHED}
        os.mkdir('%s/%s' % (folder, name))
        with open('%s/%s/config.json' % (folder, name), 'w') as file:
            json.dump(config, file)
        yield name, {'config': config, 'header': header_of(of['tensors']), 'folder': '%s/%s' % (folder, name),
                     'heads': config.get('num_attention_heads', config.get('n_head', 12))}


def answer_of(ask, case):
    try:
        parameters, cache = ask(case)
        return {'parameters': parameters, 'cache': cache}
    except Exception as error:
        return {'refused': '%s: %s' % (type(error).__name__, str(error).split('\n')[0][:100])}


def main():
    warnings.filterwarnings('ignore')
    tools = {'hf-mem': ask_hf_mem, 'llm-analysis': ask_llm_analysis, 'accelerate': ask_accelerate}
    made_by = {name: importlib.metadata.version(name) for name in [*tools, 'transformers']}
    with tempfile.TemporaryDirectory() as folder:
        path, made_by['cookbook'] = checkout(folder)
        tools['cookbook'] = cookbook(path)
        asked = list(cases(folder))
        answers = {tool: {name: answer_of(ask, case) for name, case in asked} for tool, ask in tools.items()}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': made_by, 'tokens': TOKENS, 'answers': answers}, indent=1) + '\n')


if __name__ == '__main__':
    main()
