#!/usr/bin/env python3
"""Writes lens_scores.json: what TransformerLens's detectors find in small models of transformers_logits.json.

    lens_scores.py OUT.json
"""
import importlib.metadata
import json
import sys
import tempfile
import types

import tokenizers
import torch
import transformers
from transformer_lens.head_detector import detect_head
from transformer_lens.model_bridge import TransformerBridge

from lens import SCORES, twice
from logits import listed
from made_up import write_model

CASES = 'gpt2', 'gpt_neox', 'llama', 'qwen3'
N = 16


def load(case):
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(i): i for i in range(case['config']['vocab_size'])}, '0'))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token='1', eos_token='2', pad_token='0')
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, case['config'], listed(case['tensors']))
        model = getattr(transformers, case['config']['architectures'][0]).from_pretrained(folder, attn_implementation='eager')
        tokenizer.save_pretrained(folder)
        return TransformerBridge.boot_transformers(folder, hf_model=model)


def scores(model, tokens):
    """{name: [layer][head]}"""
    tokens = torch.tensor([tokens])
    _, cache = model.run_with_cache(tokens)
    patterns = {('pattern', layer, 'attn'): cache['pattern', layer, 'attn'][0] for layer in range(model.cfg.n_layers)}
    given = types.SimpleNamespace(cfg=model.cfg, to_tokens=lambda text: tokens)  # in place of text that a tokenizer reads
    return {name: detect_head(given, '', name, cache=patterns, error_measure='mul').tolist() for name in SCORES}


def main():
    with open('tests/reference/transformers_logits.json') as file:
        cases = [case for case in json.load(file)['cases'] if case['name'] in CASES]
    vocabulary = min(case['config']['vocab_size'] for case in cases)
    made_by = {name: importlib.metadata.version(name) for name in ('transformer-lens', 'transformers')}
    found = {case['name']: scores(load(case), twice(N, vocabulary)) for case in cases}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': made_by, 'n': N, 'vocabulary': vocabulary, 'scores': found}, indent=1) + '\n')


if __name__ == '__main__':
    main()
