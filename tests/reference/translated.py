#!/usr/bin/env python3
"""Models of the hub that `compress` wrote as GGUF, and back, against llama.cpp and transformers: translated_models.json.

    translated.py ATTNLEDGER

The models are those of transformers_logits.json, in folders of made-up numbers (made_up.py). A GGUF file has the folder's
loss, which is llama.cpp's of that file; the folder that is written of the file has the loss again, of text too, and every tensor.
"""
import concurrent.futures
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import agreement
from logits import listed
from made_up import tokens, write_model
from tensors import HERE

TOLERANCE = 1e-3  # llama.cpp caches keys and values in float16
CASES = ('gemma', 'gemma2', 'gemma3_text', 'gpt2', 'granite', 'llama', 'llama linear', 'llama llama3', 'mistral', 'phi3', 'qwen2', 'qwen3')
VOCABULARY = 416  # room for those of tests/data/tokenizers
TURNS = {kind + '_attention': {'rope_type': 'default', 'rope_theta': base} for kind, base in (('full', 1e6), ('sliding', 1e4))}
CHANGES = {  # the width of its heads and every sixth layer, which llama.cpp takes; windows that it hasn't got
    'gemma2': {'query_pre_attn_scalar': 12},
    'gemma3_text': {'query_pre_attn_scalar': 12, 'layer_types': ['sliding_attention'] * 3, 'rope_parameters': TURNS},
    'mistral': {'sliding_window': None}, 'phi3': {'sliding_window': None}}
TOKENIZERS = {'llama': 'llama-3', 'qwen': 'gpt2', 'gpt2': 'gpt2'}  # of others: llama-2
ONE_WAY = ('llama llama3',)  # the file holds divisors of speeds, a config the rule that they come from


def ask(program, folder, *words):
    return subprocess.run([os.path.abspath(program), *words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def tokenizer_of(case):
    name = next((name for begin, name in TOKENIZERS.items() if case['name'].startswith(begin)), 'llama-2')
    return 'tests/data/tokenizers/%s.json' % name


def enlarged(name, shape, vocabulary):
    return [VOCABULARY, *shape[1:]] if shape[0] == vocabulary and not 'layers' in name and not '.h.' in name else shape


def prepare(program, case, vector, folder):
    """model/, the case as a folder of the hub with more tokens and a tokenizer; model.gguf; and back/"""
    os.mkdir(folder + '/model')
    write_model(folder + '/model', {**case['config'], 'vocab_size': VOCABULARY, **CHANGES.get(case['name'], {})}, [
        (name, enlarged(name, shape, vector['vocabulary'])) for name, shape in listed(case['tensors'])])
    shutil.copy(tokenizer_of(case), folder + '/model/tokenizer.json')
    with open(folder + '/tokens', 'w') as file:
        print(*tokens(vector['tokens'], vector['vocabulary']), file=file)
    with open(folder + '/text', 'w', encoding='utf-8') as file:
        file.write('The attention heads, 3 of 14: caf\u00e9 \u4f60\u597d\n')
    ask(program, folder, 'compress', 'model', '-q', '--method', 'identity', '-o', 'model.gguf')
    if case['name'] not in ONE_WAY:
        ask(program, folder, 'compress', 'model.gguf', '-q', '--method', 'identity', '-o', 'back')


def loss(program, folder, model, *of):
    out = ask(program, folder, 'evaluate', model, *(of or ('--tokens', 'tokens')), '--only', 'loss', '-f', 'json')
    return json.loads(out)['tables'][0]['rows'][0]['loss']


def stored(path):
    with open(path, 'rb') as file:
        header = json.loads(file.read(struct.unpack('<Q', file.read(8))[0]))
        data = file.read()
    return {name: data[slice(*info['data_offsets'])] for name, info in header.items() if name != '__metadata__'}


def compare(program, case, vector, expected):
    """What isn't as it should be; None: nothing."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(program, case, vector, folder)
        found = [loss(program, folder, model) for model in ('model', 'model.gguf')]
        if abs(found[1] - found[0]) > 1e-6 or abs(found[1] - expected['loss']) > TOLERANCE:
            return 'losses of folder and file %r, of llama.cpp %r' % (found, expected['loss'])
        if case['name'] in ONE_WAY:
            return None
        before, after = (stored('%s/%s/model.safetensors' % (folder, model)) for model in ('model', 'back'))
        if abs(loss(program, folder, 'back') - found[0]) > 1e-6 or not set(after) <= set(before):
            return 'another model came back'
        on_text = [loss(program, folder, model, '--text', 'text') for model in ('model', 'model.gguf', 'back')]
        if max(on_text) - min(on_text) > 1e-6:
            return 'losses of text in folder, file and folder %r' % on_text
        changed = [name for name in after if after[name] != before[name]]
        is_offset = case['name'].startswith('gemma')  # 1 is added to norms and taken off again
        return 'other numbers came back: %s' % changed[0] if changed and not (
            is_offset and all('norm' in name for name in changed)) else None


def main():
    with open(HERE + '/translated_models.json') as file:
        expected = json.load(file)
    with open(HERE + '/transformers_logits.json') as file:
        vector = json.load(file)
    cases = [case for case in vector['cases'] if case['name'] in CASES]
    rows = {row['name']: row for row in expected['rows']}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = list(pool.map(lambda case: compare(sys.argv[1], case, vector, rows[case['name']]), cases))
    for case, what in zip(cases, wrong):
        if what:
            print('%s: %s' % (case['name'], what))
    n, two_way = len(cases), len(cases) - len(ONE_WAY)
    loaded = sum(row.get('logits', 1) <= 1e-5 for row in rows.values())
    is_said = agreement.holds('loss of a folder of the hub that compress wrote as GGUF', agreement.versions(
        expected['made_by'], 'llama.cpp') + ', on a CPU', n, n - sum(map(bool, wrong)), 'within 0.001 nats per token')
    is_said &= agreement.holds('logits of a GGUF file that compress wrote as a folder of the hub', agreement.versions(
        expected['made_by'], 'transformers', 'torch'), two_way, loaded, 'within 1e-5')
    lines = expected['lines'].values()
    is_said &= agreement.holds('tokens of lines of text, for a tokenizer.json that compress wrote as GGUF', agreement.versions(
        expected['made_by'], 'llama.cpp'), sum(n for n, _ in lines), sum(equal for _, equal in lines),
        'of SentencePiece\'s kind all; of byte-level pairs llama.cpp splits rare characters by its own table of Unicode')
    return 0 if is_said and not any(wrong) else 1


if __name__ == '__main__':
    sys.exit(main())
