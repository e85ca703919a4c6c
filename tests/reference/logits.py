#!/usr/bin/env python3
"""What attnledger computes of small models, against transformers: transformers_logits.json.

    logits.py COMMANDS [EVERY]      EVERY: each of so many cases alone

Each case becomes a folder with a config.json and a checkpoint of made-up numbers (made_up.py). What differs by more than
1e-6 of the largest number must be explained in logits_differences.json, and what is explained there must differ.
"""
import array
import concurrent.futures
import json
import math
import os
import struct
import sys
import tempfile

import agreement
import commands
from made_up import tokens, write_model
from tensors import HERE, expanded, judge

TOLERANCE = 1e-6


def listed(by_shape):
    for shape, names in by_shape.items():
        for name in (one for name in names for one in expanded(name)):
            yield name, [int(n) for n in shape.split('x') if n]


def read(folder, name):
    """The rows of a float32 array's last sequence."""
    with open(folder + '/index.json') as file:
        sequences, longest, width = next(a['shape'] for a in json.load(file)['arrays'] if a['file'] == name)
    with open(folder + '/' + name, 'rb') as file:
        data = file.read()
    numbers = array.array('f', data[10 + struct.unpack_from('<H', data, 8)[0]:])
    return [numbers[at:at + width] for at in range((sequences - 1) * longest * width, len(numbers), width)]


def farthest(found, expected, largest):
    return max(abs(a - b) / largest for a, b in zip(found, expected))


def compare_output(vector, case, rows):
    """The largest difference of one of the kept numbers, and of the mean size."""
    worst = max(farthest(rows[row][::vector['every']], expected, case['largest'])
                for row, expected in zip(vector['rows'], case['numbers']))
    total = sum(abs(x) for row in rows for x in row)
    return max(worst, abs(total - case['sum']) / case['largest'] / len(rows) / len(rows[0]))


def compare_heads(vector, case, folder):
    worst = 0
    for head, expected in enumerate(case['heads']['numbers']):
        name, = [name for name in os.listdir(folder) if name.endswith('.%d.output.npy' % head)]
        rows = read(folder, name)
        worst = max(worst, *(farthest(rows[row], numbers, case['heads']['largest'])
                             for row, numbers in zip(vector['head_rows'], expected)))
    return worst


def ask(program, vector, case, folder):
    """The numbers of the last hidden states or logits as rows, or None and what was wrong."""
    is_encoder = not case['config']['architectures'][0].endswith(('CausalLM', 'LMHeadModel', 'ConditionalGeneration'))
    ids = tokens(vector['tokens'], vector['vocabulary'])
    with open(folder + '/tokens.txt', 'w') as file:
        print(*ids[-3:], file=file)  # a sequence before that with which transformers was run
        print(*ids, file=file)
    words = ['evaluate', folder, '--tokens', folder + '/tokens.txt', '--arrays', folder + '/arrays', '--threads', '1',
             *([] if is_encoder else ['--array-logits']), *(['--array-heads', '1:*'] if 'heads' in case else [])]
    wrong = commands.run(program, *words)
    if wrong:
        return None, wrong.replace(folder + '/', '')
    return read(folder + '/arrays', 'hidden.npy' if is_encoder else 'logits.npy'), ''


def compare(program, vector, case):
    """Lines of what is wrong, and the largest difference."""
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, case['config'], listed(case['tensors']))
        rows, wrong = ask(program, vector, case, folder)
        if not rows:
            return [wrong], math.inf
        found = {'output': compare_output(vector, case, rows)}
        if 'heads' in case:
            found['heads of layer 1'] = compare_heads(vector, case, folder + '/arrays')
    return ['the %s by %.2g of the largest' % (what, by) for what, by in found.items() if not by <= TOLERANCE], \
        max(found.values())


def main():
    with open(HERE + '/transformers_logits.json') as file:
        vector = json.load(file)
    with open(HERE + '/logits_differences.json') as file:
        explained = {title for group in json.load(file)['differences'] for title in group['of']}
    chosen = vector['cases'][::int(sys.argv[2]) if len(sys.argv) > 2 else 1]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda case: compare(sys.argv[1], vector, case), chosen))
    as_explained = [judge(case['name'], lines, explained) for case, (lines, _) in zip(chosen, results)]
    equal = [by for lines, by in results if not lines]
    print('%d of %d models compute the same, within %.1e of the largest number' % (len(equal), len(chosen), max(equal)))
    is_said = len(sys.argv) > 2 or agreement.holds(
        'logits or last hidden states of a small model, and what heads give', agreement.versions(
            vector['made_by'], 'transformers', 'torch') + ' in float64', len(chosen), len(equal),
        'within %g of the largest number; the other is explained in `tests/reference/logits_differences.json`' % TOLERANCE)
    return 0 if all(as_explained) and is_said and commands.end() else 1


if __name__ == '__main__':
    sys.exit(main())
