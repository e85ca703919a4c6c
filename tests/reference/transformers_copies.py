#!/usr/bin/env python3
"""Writes transformers_copies.json: what transformers computes of checkpoints that `compress` wrote.

    transformers_copies.py OUT.json

Small models of transformers_logits.json are compressed by build/attnledger (or ATTNLEDGER of the environment), in each way that
it does. A copy whose config.json has the new sizes is loaded as it is, another one with the modelling file from its folder. Of
a model that generates, the cache is used as well: bytes, and that it changes nothing.
"""
import json
import os
import sys
import tempfile

import torch
import transformers

from copies import METHODS, compress
from made_up import tokens

PROGRAM = os.environ.get('ATTNLEDGER', 'build/attnledger')
MODELS = ('llama', 'qwen2', 'qwen2_moe', 'qwen3', 'qwen3_moe', 'mistral', 'mixtral', 'gemma', 'gemma2', 'granite', 'arcee', 'seed_oss',
          'hyperclovax', 'olmo2', 'phi3', 'starcoder2', 'gpt2', 'gpt_neox', 'opt', 'bert', 'roberta', 'xlm_roberta')
ROWS, EVERY = (31, 63), 3
FIRST = 40  # tokens without a cache, before the others one by one


def outputs(model, ids):
    with torch.no_grad():
        out = model(ids)
    return out.logits if hasattr(out, 'logits') else out.last_hidden_state


def with_cache(model, ids):
    """The same, where all tokens after the first ones come one by one; and the numbers cached a token"""
    with torch.no_grad():
        out = model(ids[:, :FIRST], use_cache=True)
        parts = [out.logits]
        for at in range(FIRST, ids.shape[1]):
            out = model(ids[:, at:at + 1], past_key_values=out.past_key_values, use_cache=True)
            parts.append(out.logits)
    cached = sum(layer.keys.numel() / layer.keys.shape[2] + layer.values.numel() / layer.values.shape[2]
                 for layer in out.past_key_values.layers)
    return torch.cat(parts, 1), cached


def run(folder, generates, ids):
    auto = transformers.AutoModelForCausalLM if generates else transformers.AutoModel
    model = auto.from_pretrained(folder, dtype=torch.float32, trust_remote_code=True, attn_implementation='eager')
    whole = outputs(model, ids)
    found = {'largest': whole.abs().max().item(), 'numbers': [[round(x, 7) for x in whole[0, row, ::EVERY].tolist()] for row in ROWS]}
    if generates:
        stepwise, found['cached'] = with_cache(model, ids)
        assert (stepwise - whole).abs().max() < 1e-5 * found['largest'], 'the cache changes what is computed'
    return found


def copy(case, method, folder, ids):
    out, wrong = compress(PROGRAM, case, method, folder)
    if wrong:
        return None
    with open(out + '/config.json') as file:
        brings_code = 'auto_map' in json.load(file)
    try:
        found = run(out, case['config']['architectures'][0].endswith(('CausalLM', 'LMHeadModel')), ids)
    except ValueError as error:
        return {'not_run': str(error)}
    return dict(found, code=brings_code)


def main():
    transformers.logging.set_verbosity_error()
    with open('tests/reference/transformers_logits.json') as file:
        vector = json.load(file)
    ids = torch.tensor([tokens(vector['tokens'], vector['vocabulary'])])
    found = []
    for case in vector['cases']:
        for method in METHODS if case['name'] in MODELS else ():
            with tempfile.TemporaryDirectory() as folder:
                one = copy(case, method, folder, ids)
                if one:
                    found.append(dict({'model': case['name'], 'method': method}, **one))
    head = {'made_by': {'transformers': transformers.__version__, 'torch': torch.__version__}, 'rows': ROWS, 'every': EVERY}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps(head, indent=1)[:-2] + ',\n "copies": [\n')
        file.write(',\n'.join(json.dumps(one, separators=(',', ':')) for one in found))
        file.write('\n]}\n')


if __name__ == '__main__':
    main()
