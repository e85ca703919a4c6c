#!/usr/bin/env python3
"""Writes transformers_caches.json: bytes of the numbers in transformers' cache after a prompt and some steps, for small models.

    transformers_caches.py OUT.json

The configs are those of transformers_logits.json, the cache is the one that `generate` makes by itself. Storages are counted: the
keys of a window are a part of a tensor that has one token more.
"""
import copy
import json
import sys

import torch
import transformers

PROMPT, STEPS = 40, 4


def size(found):
    """Bytes of the storages of all tensors of numbers that a cache reaches"""
    seen, todo, storages = set(), [found], {}
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            if one.is_floating_point():
                storages[one.untyped_storage().data_ptr()] = one.untyped_storage().nbytes()
        elif isinstance(one, (list, tuple)):
            todo += one
        elif isinstance(one, dict):
            todo += one.values()
        elif type(one).__module__.startswith('transformers.') and not isinstance(one, torch.nn.Module):
            todo += vars(one).values()
    return sum(storages.values())


def measure(case):
    config = transformers.AutoConfig.for_model(**copy.deepcopy(case['config']))
    model = getattr(transformers, case['config']['architectures'][0])(config).eval()
    ids = torch.randint(4, 40, (1, PROMPT))
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values
        for _ in range(STEPS):
            cache = model(ids[:, :1], past_key_values=cache, use_cache=True).past_key_values
    return size(cache)


def main():
    transformers.logging.set_verbosity_error()
    with open('tests/reference/transformers_logits.json') as file:
        cases = json.load(file)['cases']
    found, failed = {}, {}
    for case in cases:
        if not case['config']['architectures'][0].endswith(('CausalLM', 'LMHeadModel', 'ConditionalGeneration')):
            continue
        try:
            found[case['name']] = measure(case)
        except Exception as error:
            failed[case['name']] = '%s: %s' % (type(error).__name__, str(error).split('\n')[0][:100])
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({
            'made_by': {'transformers': transformers.__version__, 'torch': torch.__version__.split('+')[0]},
            'tokens': PROMPT + STEPS, 'bytes': found, 'not_run': failed}, indent=1) + '\n')


if __name__ == '__main__':
    main()
