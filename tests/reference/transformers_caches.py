#!/usr/bin/env python3
"""Writes transformers_caches.json: bytes of the numbers in transformers' caches, for small models.

    transformers_caches.py OUT.json

The configs are those of transformers_logits.json. "bytes" are of the cache that `generate` makes by itself, after a prompt and some
steps; "static" of one made for as many tokens; "quantized" of one of integers, after a prompt that fills whole bytes, in models in
bf16. Storages are counted: the keys of a window are a part of a tensor that has one token more.
"""
import copy
import importlib.metadata
import json
import sys

import torch
import transformers
from optimum.quanto import QTensor

PROMPT, STEPS = 40, 4
QUANTIZED_PROMPT = 64
QUANTIZED = ('quanto', 2, 0), ('quanto', 4, 0), ('hqq', 4, 1), ('hqq', 8, 1)  # the package, bits, and the axis that it asks for


def holds_numbers(tensor):
    return tensor.is_floating_point() or tensor.dtype == torch.uint8


def size(found):
    """Bytes of the storages of all tensors of numbers that a cache reaches"""
    seen, todo, storages = set(), [found], {}
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, QTensor):
            todo += [one._data._data, one._scale, one._shift]
        elif isinstance(one, torch.Tensor):
            if holds_numbers(one):
                storages[one.untyped_storage().data_ptr()] = one.untyped_storage().nbytes()
        elif isinstance(one, (list, tuple)):
            todo += one
        elif isinstance(one, dict):
            todo += one.values()
        elif type(one).__module__.startswith('transformers.') and not isinstance(one, torch.nn.Module):
            todo += vars(one).values()
    return sum(storages.values())


def build(case):
    config = transformers.AutoConfig.for_model(**copy.deepcopy(case['config']))
    return getattr(transformers, case['config']['architectures'][0])(config).eval()


def dynamic(case):
    model, ids = build(case), torch.randint(4, 40, (1, PROMPT))
    cache = model(ids, use_cache=True).past_key_values
    for _ in range(STEPS):
        cache = model(ids[:, :1], past_key_values=cache, use_cache=True).past_key_values
    return size(cache)


def static(case):
    model = build(case)
    cache = transformers.StaticCache(config=model.config, max_cache_len=PROMPT + STEPS)
    model(torch.randint(4, 40, (1, PROMPT)), past_key_values=cache, use_cache=True)
    return size(cache)


def quantized(backend, bits, axis):
    def measure(case):
        model = build(case).bfloat16()
        cache = transformers.QuantizedCache(backend, model.config, nbits=bits, axis_key=axis, axis_value=axis)
        model(torch.randint(4, 40, (1, QUANTIZED_PROMPT)), past_key_values=cache, use_cache=True)
        return size(cache)
    return measure


def ask(measure, cases):
    """Bytes by name, and why others have none"""
    found, failed = {}, {}
    for case in cases:
        try:
            with torch.no_grad():
                found[case['name']] = measure(case)
        except Exception as error:
            failed[case['name']] = '%s: %s' % (type(error).__name__, str(error).split('\n')[0][:100])
    return found, failed


def main():
    transformers.logging.set_verbosity_error()
    with open('tests/reference/transformers_logits.json') as file:
        cases = [case for case in json.load(file)['cases']
                 if case['config']['architectures'][0].endswith(('CausalLM', 'LMHeadModel', 'ConditionalGeneration'))]
    found, failed = ask(dynamic, cases)
    cases = [case for case in cases if case['name'] in found]
    whole, without = ask(static, cases)
    integers = {'%s int%d' % kind[:2]: ask(quantized(*kind), cases)[0] for kind in QUANTIZED}
    made_by = {name: importlib.metadata.version(name).split('+')[0] for name in ('transformers', 'torch', 'optimum-quanto', 'hqq')}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': made_by, 'tokens': PROMPT + STEPS, 'quantized_prompt': QUANTIZED_PROMPT, 'bytes': found, 'static': whole, 'no_static': without,
                               'quantized': integers, 'not_run': failed}, indent=1) + '\n')


if __name__ == '__main__':
    main()
