#!/usr/bin/env python3
"""The numbers, flags and words that families take where a config leaves a key out, against those of transformers:
transformers_defaults.json, those of the forward pass, such as a norm's epsilon, too. Formulas and lists aren't compared.

    defaults.py
"""
import json
import sys

import agreement
import families
from tensors import HERE, judge

# Why another one is right.
KIMI = 'the code that is published with the models has others'
PART = 'which layers have features: -1 is one layer'
EXPLAINED = {
    **{'kimi_linear ' + symbol: KIMI for symbol in (
        'd_model', 'n_layers', 'kv_rank', 'd_nope', 'd_rope', 'd_value', 'n_kda_heads', 'd_kda_head', 'conv_width', 'd_ff', 'context',
        'd_expert', 'n_experts', 'n_active', 'n_shared')},
    **{name + ' n_features': PART for name in ('llava', 'llava_next', 'llava_onevision', 'mistral3')},
    'deberta max_relative': '-1 stands for all positions',
    'laguna gating': 'true is a word here',
    'deepseek_v3 n_mtp': 'transformers makes no layers that predict further tokens',
    'qwen2_moe window': '0 as long as use_sliding_window is false',
    'qwen3_vl_text context': "Qwen3's family reads it, whose default it is not",
    'qwen3_vl_text rotary_base': "Qwen3's family reads it, whose default it is not",
    'qwen3_vl_moe_text tied': 'the config of the whole model decides',
}


def own_default(key):
    """As a config would have it"""
    default = key.get('default')
    return default / 1e6 if key.get('type') == 'millionths' else default


def is_formula(symbol, key):
    """The forward pass has words alone"""
    return not symbol.startswith('forward.') and isinstance(key.get('default'), str) and key.get('type') != 'word'


def compare(keys, theirs):
    """(symbol, what is wrong) of each default that both have"""
    for symbol, key in keys.items():
        name = next((name for name in families.names_of(key) if name in theirs), None)
        if name and not is_formula(symbol, key):
            ours = own_default(key)
            yield symbol, [] if ours == theirs[name] else ['%s: %s, expected %s' % (name, ours, theirs[name])]


def main():
    with open(HERE + '/transformers_defaults.json') as file:
        vector = json.load(file)
    of_all = families.read()
    judged = [('%s %s' % (model_type, symbol), lines) for family in sorted(of_all) for model_type in of_all[family].get('model_types', ())
              if model_type in vector['defaults']
              for symbol, lines in compare(families.all_keys_of(of_all, family), vector['defaults'][model_type])]
    as_explained = [judge(name, lines, EXPLAINED) for name, lines in judged]
    is_said = agreement.holds('numbers, flags and words that a config may leave out', agreement.versions(vector['made_by'], 'transformers'),
                              len(judged), sum(not lines for _, lines in judged),
                              'of %d model types; the others are explained in `tests/reference/defaults.py`' % len(vector['defaults']))
    return 0 if all(as_explained) and is_said else 1


if __name__ == '__main__':
    sys.exit(main())
