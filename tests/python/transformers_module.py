#!/usr/bin/env python3
"""Modules of transformers, audited in memory and as the folders that they save: the same tables. Needs torch and
transformers; by hand:

    PYTHONPATH=build/python python3 tests/python/transformers_module.py
"""
import os
import sys
import tempfile

import torch
import transformers

import attnledger as al

SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 8, "vocab_size": 100,
         "max_position_embeddings": 64}
CASES = {
    "Llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {**SMALL, "num_key_value_heads": 4}),
    "tied Llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {**SMALL, "tie_word_embeddings": True}),
    "BERT": (transformers.BertConfig, transformers.BertModel, SMALL),
    "GPT-2": (transformers.GPT2Config, transformers.GPT2LMHeadModel,
              {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64}),
    "Mixtral": (transformers.MixtralConfig, transformers.MixtralForCausalLM,
                {**SMALL, "num_key_value_heads": 4, "num_local_experts": 4}),
}


def tables(answer):
    """But for the order of rows, which is that of tensors in a file."""
    return [answer.text, [[table["id"], sorted(map(str, table["rows"])), table["totals"]]
                          for table in answer.data["tables"]]]


def differences(name, dtype):
    config, kind, settings = CASES[name]
    torch.manual_seed(1)
    model = kind(config(**settings)).to(dtype)
    model.save_pretrained("saved")
    for command in al.audit, al.reconcile, al.inspect:
        in_memory, saved = command(model), command("saved")
        if tables(in_memory) != tables(saved):
            yield f"{name}, {dtype}: {command.__name__}: {in_memory.text}; saved: {saved.text}"
    ids = torch.randint(0, 100, (6, 32))
    calibration = al.calibrate(model, ids)
    if tables(calibration) != tables(al.calibrate("saved", tokens=ids.tolist())):
        yield f"{name}, {dtype}: calibrations differ"
    if tables(al.audit(model, calibration=calibration)) != tables(al.audit("saved", calibration=calibration)):
        yield f"{name}, {dtype}: audits with a calibration differ"
    copy = al.compress(model, method="identity", force=True).state_dict()
    tensors = model.state_dict()
    if not all(torch.equal(copy[key], tensors[key]) for key in copy.keys() & tensors.keys()):
        yield f"{name}, {dtype}: the copy differs"


n = 0
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for case in CASES:
        for number in torch.float32, torch.bfloat16, torch.float16:
            for difference in differences(case, number):
                print(difference)
                n += 1
print(f"{3 * len(CASES)} modules, {n} differences")
sys.exit(n > 0)
