#!/usr/bin/env python3
"""`cache --engine transformers` of small models against the cache that transformers makes: transformers_caches.json.

    caches.py ATTNLEDGER
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import agreement
from tensors import HERE, judge

# What differs, and must.
EXPLAINED = {'falcon 40b': 'keys and values are copied for each head before they are cached',
             'gpt_neo': 'layers with a window keep the whole context'}


def compare(program, config, tokens, measured):
    """What is wrong"""
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/config.json', 'w') as file:
            json.dump(config, file)
        result = subprocess.run([program, 'cache', folder + '/config.json', '--engine', 'transformers', '--seq', str(tokens), '--dtype',
                                 'f32', '-f', 'value'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ours = result.stdout.strip() or result.stderr.strip()
    return [] if ours == str(measured) else ['%d bytes, derived %s' % (measured, ours)]


def main():
    with open(HERE + '/transformers_caches.json') as file:
        vector = json.load(file)
    with open(HERE + '/transformers_logits.json') as file:
        configs = {case['name']: case['config'] for case in json.load(file)['cases']}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = list(pool.map(lambda one: compare(sys.argv[1], configs[one[0]], vector['tokens'], one[1]), vector['bytes'].items()))
    as_explained = [judge(name, lines, EXPLAINED) for name, lines in zip(vector['bytes'], wrong)]
    is_said = agreement.holds(
        "bytes of a small model's cache after a prompt and four steps", agreement.versions(vector['made_by'], 'transformers', 'torch'),
        len(wrong), sum(not lines for lines in wrong), '; '.join('%s: %s' % one for one in EXPLAINED.items()))
    return 0 if all(as_explained) and is_said else 1


if __name__ == '__main__':
    sys.exit(main())
