#!/usr/bin/env python3
"""Writes transformers_tensors.json: the tensors that transformers would save, for each family that it has.

    transformers_tensors.py OUT.json [FIXTURES]

Every class that takes a config of one of our model types is built on the meta device: from the type's default config, and
from each of FIXTURES/configs and of the project's presets that names it. Its tensors are those that `save_pretrained`
writes: tied ones left out, names as in checkpoints. Names that differ in numbers alone are one row,
`model.layers.{0-31}.self_attn.q_proj.weight`. The vector has a fixture's name, not its
config.
"""
import collections
import copy
import glob
import importlib
import json
import os
import sys

import torch
import transformers
from transformers.core_model_loading import revert_weight_conversion
from transformers.modeling_utils import remove_tied_weights_from_state_dict
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# Where no model can be built from the default config, or none that anybody has.
OVERRIDES = {
    'aya_vision': {'vision_config': {'model_type': 'siglip_vision_model', 'num_attention_heads': 16,
                                     'vision_use_head': False}},
    'dots1': {'n_routed_experts': 128, 'n_shared_experts': 2},
    'glm4_moe': {'head_dim': 128},
    'glm4v_moe': {'text_config': {'model_type': 'glm4v_moe_text', 'head_dim': 128}},
    'chameleon': {'vocabulary_map': {'<image>': 8711}},
    'granite4_vision': {'text_config': {'model_type': 'granite'}, 'downsample_rate': '4/8',
                        'deepstack_layer_map': [[-2, 4], [-4, 8]]},
    'hunyuan_v1_dense': {'head_dim': 128},
    'hunyuan_v1_moe': {'head_dim': 128},
    'hunyuan_vl': {'text_config': {'model_type': 'hunyuan_vl_text', 'head_dim': 128}},
    'idefics3': {'pad_token_id': 0, 'text_config': {'model_type': 'llama', 'pad_token_id': 0}},
    'kimi_linear': {'linear_attn_config': {'num_heads': 32, 'head_dim': 128, 'short_conv_kernel_size': 4,
                                           'kda_layers': [1, 2, 3, 5, 6, 7], 'full_attn_layers': [4, 8]},
                    'num_hidden_layers': 8},
    'lfm2_moe': {'layer_types': ['conv', 'conv', 'full_attention'] * 8, 'num_hidden_layers': 24},
    'nemotron': {'head_dim': 128, 'num_key_value_heads': 8},
    'perception_lm': {'vision_config': {'model_type': 'timm_wrapper', 'architecture': 'vit_pe_core_large_patch14_336',
                                        'model_args': {'embed_dim': 1024, 'img_size': [448, 448], 'depth': 23,
                                                       'global_pool': '', 'use_post_transformer_norm': False,
                                                       'init_values': 0.1, 'ref_feat_shape': [32, 32]}}},
    'smolvlm': {'pad_token_id': 0, 'text_config': {'model_type': 'llama', 'pad_token_id': 0}},
}
# Of a config that names no class of transformers', the first.
USUAL = ('ForCausalLM', 'LMHeadModel', 'ForConditionalGeneration', 'Model')


# ---- names ----

def ranges(numbers):
    """[0, 1, 2, 5] as '0-2,5'"""
    runs = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ','.join(str(a) if a == b else '%d-%d' % (a, b) for a, b in runs)


def collapse_at(rows, from_end):
    """Rows whose names differ in one number, the word `from_end` of the name counted from its end, become one."""
    groups = collections.defaultdict(list)
    for row in rows:
        words = row[0].split('.')
        at = len(words) - 1 - from_end
        if at >= 0 and words[at].isdigit():
            groups[(tuple(words[:at]), tuple(words[at + 1:])) + row[1:]].append(int(words[at]))
    for (before, after, *rest), numbers in groups.items():
        if len(numbers) > 1:
            rows -= {('.'.join((*before, str(n), *after)), *rest) for n in numbers}
            rows.add(('.'.join((*before, '{%s}' % ranges(sorted(numbers)), *after)), *rest))


def collapsed(rows):
    rows = set(rows)
    for from_end in range(max((row[0].count('.') for row in rows), default=0) + 1):
        collapse_at(rows, from_end)
    return sorted(rows)


# ---- models ----

def saved(model):
    state = model.state_dict()
    for name in model._keys_to_ignore_on_save or ():
        state.pop(name, None)
    return revert_weight_conversion(model, remove_tied_weights_from_state_dict(state, model))


def kind(tensor):
    dtype, shape = str(tensor.dtype).split('.')[1], 'x'.join(map(str, tensor.shape))
    return shape if dtype == 'float32' else '%s %s' % (dtype, shape)


def built(cls, config):
    """Names by shape, and by number format where that isn't float32."""
    with torch.device('meta'):
        model = cls._from_config(config, dtype=torch.float32)
    model.tie_weights()
    tensors = collections.defaultdict(list)
    for name, of in collapsed((name, kind(t)) for name, t in saved(model).items()):
        tensors[of].append(name)
    return {'parameters': model.num_parameters(), 'tensors': tensors}


def classes(config):
    """The models that take this config, in the order of their module's own list."""
    module = importlib.import_module(type(config).__module__.replace('.configuration_', '.modeling_'))
    for name in module.__all__:
        cls = getattr(module, name)
        if getattr(cls, 'config_class', None) is type(config) and not name.lower().endswith('pretrainedmodel') \
                and 'Pretrained' not in name and 'PreTrained' not in name:
            yield cls


# ---- configs ----

def families():
    """Our model types, each with its family."""
    for path in sorted(glob.glob('src/catalog/families/*.json')):
        with open(path) as file:
            family = json.load(file)
        for model_type in family.get('model_types', ()):
            yield family['name'], model_type


def default_config(model_type):
    return CONFIG_MAPPING[model_type](**OVERRIDES.get(model_type, {}))


def from_file(data):
    data = dict(data)
    data.pop('quantization_config', None)
    config = CONFIG_MAPPING[data['model_type']].from_dict(data)
    of = {cls.__name__: cls for cls in classes(config)}
    named = [name for name in data.get('architectures', ()) if name in of]
    usual = [name for end in USUAL for name in of if name.endswith(end)]
    return config, [of[name] for name in named or usual[:1]]


def reason(error):
    return '%s: %s' % (type(error).__name__, str(error).split('\n')[0][:160])


class Vector:
    def __init__(self):
        self.cases, self.not_built = [], {}

    def add(self, title, case, read):
        """A case of a config, which `read` gives with its classes: those that can be built, each with its tensors."""
        try:
            config, of = read()
        except Exception as error:
            self.not_built[title] = reason(error)
            return
        case['classes'] = {}
        for cls in of:
            try:
                case['classes'][cls.__name__] = built(cls, copy.deepcopy(config))  # some classes change theirs
            except Exception as error:
                self.not_built['%s %s' % (title, cls.__name__)] = reason(error)
        if case['classes']:
            self.cases.append(case)


def read_default(model_type, case):
    config = CONFIG_MAPPING[model_type](**OVERRIDES.get(model_type, {}))
    case['config'] = json.loads(config.to_json_string(use_diff=True))
    return config, list(classes(config))


def read_json(path):
    with open(path) as file:
        return json.load(file)


def add_defaults(vector):
    for path in sorted(glob.glob('src/catalog/families/*.json')):
        for model_type in read_json(path).get('model_types', ()):
            if model_type in CONFIG_MAPPING:
                case = {'name': model_type}
                vector.add(model_type, case, lambda: read_default(model_type, case))


def add_presets(vector):
    for path in sorted(glob.glob('src/catalog/models/*.json')):
        preset = read_json(path)
        if preset.get('config', {}).get('model_type') in CONFIG_MAPPING:
            vector.add(preset['name'], {'name': preset['name'], 'config': preset['config']},
                       lambda: from_file(preset['config']))


def add_fixtures(vector, folder):
    for path in sorted(glob.glob(folder + '/configs/*.json')):
        data, name = read_json(path), os.path.basename(path)
        if 'model_type' in data:
            vector.add(name, {'name': name, 'fixture': 'configs/' + name}, lambda: from_file(data))


def main():
    vector = Vector()
    add_defaults(vector)
    add_presets(vector)
    if len(sys.argv) > 2:
        add_fixtures(vector, sys.argv[2])
    head = {'made_by': {'transformers': transformers.__version__, 'torch': torch.__version__.split('+')[0]},
            'not_built': vector.not_built}
    with open(sys.argv[1], 'w') as file:
        file.write(json.dumps(head, indent=1)[:-2] + ',\n "cases": [\n')
        file.write(',\n'.join(json.dumps(case, separators=(',', ':')) for case in vector.cases))
        file.write('\n]}\n')


if __name__ == '__main__':
    main()
