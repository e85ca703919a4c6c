#!/usr/bin/env python3
"""Does each derivation give its number, and do they add up? As an example, a calculator of one's own: the cache of plain
grouped heads. Any language can do the same.

    check.py [FOLDER]
"""
import glob
import json
import math
import os
import sys

WORDS = {'min': min, 'max': max, 'floor': math.floor, 'ceil_div': lambda a, b: -(-a // b), 'if_': lambda c, a, b: a if c else b}


def derived(entry):
    return eval(entry['substituted'].replace('^', '**').replace('if(', 'if_('), {}, WORDS) * entry['times']


def my_cache(config, context):
    heads, width = config['num_attention_heads'], config['hidden_size']
    return 2 * config['num_hidden_layers'] * config['num_key_value_heads'] * width // heads * context * 2


def check(vector):
    assert sum(map(derived, vector['parameters']['entries'])) == vector['parameters']['total']
    for memory in vector['memory']:
        sums = {}
        for entry in vector['weights'][memory['weights']] + memory['entries']:
            assert derived(entry) == entry['result'] * entry['times'], (vector['model'], memory['engine'], entry)
            sums[entry['state']] = sums.get(entry['state'], 0) + entry['result'] * entry['times']
        for state in 'weights', 'cache', 'states':
            assert sums.get(state, 0) == memory['bytes'].get(state, 0), (vector['model'], memory['engine'], state)
        if vector['model'] in ('llama-3-8b', 'qwen2.5-7b', 'llama-3-70b') and memory['context'] % 256 == 0:
            assert my_cache(vector['config'], memory['context']) == memory['bytes']['cache']


folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
for path in sorted(glob.glob(os.path.join(folder, '*.json'))):
    if not path.endswith('schema.json'):
        with open(path, encoding='utf-8') as file:
            check(json.load(file))
