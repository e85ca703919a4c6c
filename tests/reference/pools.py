#!/usr/bin/env python3
"""`cache --engine sglang` of the tokens that SGLang's own code gives a model's pools: sglang_pools.json.

    pools.py COMMANDS
"""
import json
import os
import sys
import tempfile

import agreement
import commands
from tensors import HERE, judge


def derive(program, config, engine, case, tokens):
    """Bytes of what grows with tokens, and of a sequence's states, on one device"""
    tp = case.split()[-1]
    status, said = commands.answer(program, 'cache', config, '--engine', engine, '--seq', str(tokens), '--tp', tp, '-f', 'json')
    if status:
        raise ValueError(said.strip())
    rows = json.loads(said)['tables'][0]['rows']
    states = sum(row['bytes'] for row in rows if row['kind'] == 'state')
    return sum(row['bytes'] for row in rows) - states, states


def compare(program, config, engine, case, found, size):
    """What is wrong: a token more must not fit, and windows are rounded to whole tokens."""
    try:
        bytes_, states = derive(program, config, engine, case, found['tokens'])
    except ValueError as error:
        return [str(error)]
    wrong = ['%d tokens in %d bytes, derived %d' % (found['tokens'], size, bytes_)] if abs(bytes_ - size) * found['tokens'] > 2 * size else []
    return wrong + (['%d bytes of states, derived %d' % (found['state'], states)] if states != found.get('state', 0) else [])


def main():
    with open(HERE + '/sglang_pools.json') as file:
        vector = json.load(file)
    with open(HERE + '/transformers_tensors.json') as file:
        configs = {case['name']: case['config'] for case in json.load(file)['cases'] if 'config' in case}
    asked = [(version, case, found) for version, of in vector['versions'].items() for case, found in of.items() if 'tokens' in found]
    with tempfile.TemporaryDirectory() as folder:
        for name in {case.split()[0] for _, case, _ in asked}:
            with open('%s/%s.json' % (folder, name), 'w') as file:
                json.dump(configs[name], file)
        wrong = [compare(sys.argv[1], '%s/%s.json' % (folder, case.split()[0]), 'sglang@' + version, case, found, vector['bytes'])
                 for version, case, found in asked]
    is_equal = [judge('%s, %s' % (case, version), lines, {}) for (version, case, _), lines in zip(asked, wrong)]
    is_said = agreement.holds(
        "tokens of a model's cache in 32 GiB, and bytes of recurrent states, by its own Python code",
        'SGLang ' + ', '.join(vector['versions']), len(asked), sum(not lines for lines in wrong),
        'to a token; on one device and on one of eight. SGLang uses the windows of few architectures')
    return 0 if all(is_equal) and is_said and commands.end() else 1


if __name__ == '__main__':
    sys.exit(main())
