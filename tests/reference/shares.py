#!/usr/bin/env python3
"""The share of a device that `fit --engine sglang` takes, against SGLang's own code: sglang_fractions.json.

    shares.py COMMANDS
"""
import concurrent.futures
import json
import os
import re
import sys
import tempfile

import agreement
import commands
from tensors import HERE, judge


def derive(program, folder, version, memory, tp, pp, is_mla, prefill):
    """The fraction, of a model with or without MLA: of few layers, since no size decides"""
    model = f"{folder}/{'deepseek_v3' if is_mla else 'llama'}.json"
    asked = ['fit', model, '--engine', 'sglang@' + version, '--device', '%dMiBx%d' % (memory, tp * pp),
             '--tp', str(tp), '--pp', str(pp), '--seq', '64', '-f', 'json']
    asked += ['--max-num-batched-tokens', str(prefill)] if prefill else []
    _, said = commands.answer(program, *asked)
    found = re.search(r'([\d.]+) % of its memory for weights', said)
    return float(found[1]) / 100 if found else said.strip()


def compare(program, folder, version, case):
    *settings, fraction = case
    derived = derive(program, folder, version, *settings)
    is_close = isinstance(derived, float) and abs(derived - fraction) < 1e-9
    return [] if is_close else ['mem_fraction_static %g, derived %s' % (fraction, derived)]


def main():
    with open(HERE + '/sglang_fractions.json') as file:
        vector = json.load(file)
    asked = [(version, case) for version, of in vector.items() for case in of]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for model_type in 'llama', 'deepseek_v3':
            with open(f'{folder}/{model_type}.json', 'w') as file:
                json.dump({'model_type': model_type, 'num_hidden_layers': 2, 'torch_dtype': 'bfloat16'}, file)
        wrong = list(pool.map(lambda one: compare(sys.argv[1], folder, *one), asked))
    is_equal = [judge('%s, %s' % (version, case[:-1]), lines, {}) for (version, case), lines in zip(asked, wrong)]
    is_said = agreement.holds(
        'the share of a device for weights and cache, mem_fraction_static, by its own Python code',
        'SGLang ' + ', '.join(vector), len(asked), sum(not lines for lines in wrong),
        'to 0.001: devices of 16 to 179 GiB, up to 8 of them, with and without MLA; not of multimodal models')
    return 0 if all(is_equal) and is_said and commands.end() else 1


if __name__ == '__main__':
    sys.exit(main())
