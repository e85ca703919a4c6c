#!/usr/bin/env python3
"""Writes lens_scores.json: what TransformerLens's detectors find in small models of transformers_logits.json.

    lens_scores.py OUT.json

And in stories15M, where STORIES15M of the environment is its file of llama2.c; else what the vector says of it is kept.
"""
import importlib.metadata
import json
import os
import sys
import tempfile
import types

import tokenizers
import torch
import transformers
from transformer_lens.head_detector import detect_head
from transformer_lens.model_bridge import TransformerBridge

import losses
from lens import SCORES, STORIES, twice
from logits import listed
from made_up import write_model

CASES = 'gpt2', 'gpt_neox', 'llama', 'qwen3'
N = 16
OF_STORIES = {'n': 50, 'vocabulary': 32000}
PLACES = {'attn_norm': 'input_layernorm', 'attn_q': 'self_attn.q_proj', 'attn_k': 'self_attn.k_proj', 'attn_v': 'self_attn.v_proj',
          'attn_output': 'self_attn.o_proj', 'ffn_norm': 'post_attention_layernorm', 'ffn_gate': 'mlp.gate_proj',
          'ffn_down': 'mlp.down_proj', 'ffn_up': 'mlp.up_proj'}


def bridge(folder, model):
    """Of a model whose config is in the folder"""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(i): i for i in range(model.config.vocab_size)}, '0'))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token='1', eos_token='2', pad_token='0')
    tokenizer.save_pretrained(folder)
    return TransformerBridge.boot_transformers(folder, hf_model=model)


def load(case):
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, case['config'], listed(case['tensors']))
        model = getattr(transformers, case['config']['architectures'][0]).from_pretrained(folder, attn_implementation='eager')
        return bridge(folder, model)


def load_stories(path):
    """llama2.c turns pairs of neighbors, transformers the two halves of a head."""
    shapes, numbers = losses.MODELS[losses.STORIES]['tensors'], losses.stories(path)
    config = transformers.LlamaConfig(hidden_size=288, num_hidden_layers=6, num_attention_heads=6, num_key_value_heads=6,
                                      intermediate_size=768, vocab_size=32000, rms_norm_eps=1e-5, tie_word_embeddings=True,
                                      attn_implementation='eager')
    model = transformers.LlamaForCausalLM(config)
    of = model.model

    def read(name, to):
        values = torch.frombuffer(numbers(name, shapes[name]), dtype=torch.float32).reshape(to.shape)
        if '.attn_q.' in name or '.attn_k.' in name:
            values = values.view(6, 24, 2, 288).transpose(1, 2).reshape(288, 288)
        to.data.copy_(values)

    read('token_embd.weight', of.embed_tokens.weight)
    read('output_norm.weight', of.norm.weight)
    for part, place in PLACES.items():
        for layer in range(6):
            read('blk.%d.%s.weight' % (layer, part), of.layers[layer].get_submodule(place).weight)
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        return bridge(folder, model.eval())


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
    if 'STORIES15M' in os.environ:
        stories = {**OF_STORIES, 'scores': scores(load_stories(os.environ['STORIES15M']), twice(*OF_STORIES.values()))}
    else:
        with open('tests/reference/lens_scores.json') as file:
            stories = json.load(file)[STORIES]
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps({'made_by': made_by, 'n': N, 'vocabulary': vocabulary, 'scores': found, STORIES: stories},
                              indent=1) + '\n')


if __name__ == '__main__':
    main()
