#!/usr/bin/env python3
"""`calibrate` on random tokens that come twice, against TransformerLens's detectors of heads: lens_scores.json.

    lens.py ATTNLEDGER
"""
import json
import random
import subprocess
import sys
import tempfile

import agreement
from logits import listed
from made_up import write_model
from tensors import HERE

NEAR = 1e-5  # of the largest score; TransformerLens computes in float32
SCORES = {'previous_token_head': 'previous', 'duplicate_token_head': 'duplicates', 'induction_head': 'successors'}


def twice(n, vocab):
    """Random tokens, none of them twice, and the same again"""
    return 2 * random.Random('twice').sample(range(4, vocab), n)


def ours(program, folder, tokens):
    """{name of TransformerLens: shares of all attention, [layer][head]}; what we give are means over the tokens that can have it"""
    with open(folder + '/tokens.txt', 'w') as file:
        print(*tokens, file=file)
    out = subprocess.run([program, 'calibrate', folder, '--tokens', folder + '/tokens.txt', '-o', folder + '/calibration', '-f', 'json'],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    queries = {'previous': len(tokens) - 1, 'duplicates': len(tokens) // 2, 'successors': len(tokens) // 2}
    found = {name: [] for name in SCORES}
    for row in json.loads(out)['tables'][0]['rows']:
        for name, column in SCORES.items():
            found[name].append(row[column] * queries[column] / len(tokens))
    return found


def differences(program, vector, case):
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, case['config'], listed(case['tensors']))
        found = ours(program, folder, twice(vector['n'], vector['vocabulary']))
    for name, scores in vector['scores'][case['name']].items():
        expected = [score for layer in scores for score in layer]
        assert len(found[name]) == len(expected)
        yield from (abs(a - b) / max(expected) for a, b in zip(found[name], expected))


def main():
    with open(HERE + '/lens_scores.json') as file:
        vector = json.load(file)
    with open(HERE + '/transformers_logits.json') as file:
        cases = [case for case in json.load(file)['cases'] if case['name'] in vector['scores']]
    off = [one for case in cases for one in differences(sys.argv[1], vector, case)]
    print('at the worst %.3g of the largest score' % max(off))
    is_said = agreement.holds(
        'induction, duplicate-token and previous-token scores of heads, on random tokens twice',
        agreement.versions(vector['made_by'], 'transformer-lens'), len(off), sum(one <= NEAR for one in off),
        'within 1e-5 of the largest; %s' % ', '.join(vector['scores']))
    return 0 if max(off) <= NEAR and is_said else 1


if __name__ == '__main__':
    sys.exit(main())
