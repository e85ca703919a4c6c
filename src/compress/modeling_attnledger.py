"""Runs a checkpoint that attnledger compressed, in transformers: AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).

The model is that of its family. Its attention modules are replaced by `Heads`, which has the shapes that attnledger recorded in
the header of the safetensors file, and caches keys and values in their small form.
"""
import json
import os
import struct
import sys

import torch
import transformers
from safetensors.torch import load_file
from torch import nn

# Attention that is nothing but projections, norms of queries and keys, rotary positions and a softmax.
PLAIN = {
    'q_proj k_proj v_proj o_proj': 'Llama Mistral Mixtral Qwen2 Qwen2Moe Qwen3 Qwen3Moe Gemma Granite Arcee SeedOss HyperCLOVAX Starcoder2',
    'q_proj k_proj v_proj out_proj': 'OPT',
    'query key value': 'BertSelf RobertaSelf XLMRobertaSelf',
    'c_attn c_attn c_attn c_proj': 'GPT2',
}
NAMES = {kind + 'Attention': names.split() for names, kinds in PLAIN.items() for kind in kinds.split()}
PARTS = 'query', 'key', 'value'


class Heads(nn.Module):
    """The attention of one layer. shape: its record, n_heads, n_kv_heads, d_head, d_value, score_divisor, and where projections
    are stored that aren't the family's own."""

    def __init__(self, original, shape):
        super().__init__()
        for name, module in original.named_children():
            self.add_module(name, module)
        names = NAMES[type(original).__name__]
        self.layer_idx, self.names, self.shape = original.layer_idx, dict(zip(PARTS + ('output',), names)), shape
        self.stored = {one['is']: one for one in shape.get('stored', ())}
        self.scaling = shape['score_divisor'] ** -0.5 if 'score_divisor' in shape else original.scaling
        self.rotate = getattr(sys.modules[type(original).__module__], 'apply_rotary_pos_emb', None)
        if self.rotate and 'down' in self.stored.get('key', ()):
            raise ValueError('keys as products of two matrices and rotary positions: attnledger alone runs these')

    def at(self, part, what):
        """A stored tensor, by the last words of its name in the file"""
        name = self.stored[part].get(what)
        if name is None:
            return None
        found = self
        for word in name.split('.self_attn.' if '.self_attn.' in name else '.self.' if '.self.' in name else '.attn.')[-1].split('.'):
            found = getattr(found, word)
        return found

    def width(self, part):
        heads = self.shape['n_heads'] if part == 'query' else self.shape.get('n_kv_heads', self.shape['n_heads'])
        return heads * self.shape['d_value' if part == 'value' else 'd_head']

    def fused(self, part, tensor, is_absent):
        """A part of GPT-2's c_attn, whose last dimension lacks the parts that are stored elsewhere"""
        widths = {one: self.width(one) for one in PARTS if not is_absent(one)}
        at = list(widths).index(part)
        return tensor.split(list(widths.values()), dim=-1)[at]

    def weight(self, part):
        """[out][in]"""
        if part in self.stored:
            weight = self.at(part, 'weight')
            return weight.T if self.stored[part].get('in_out') else weight
        own = getattr(self, self.names[part]).weight
        return self.fused(part, own, self.stored.__contains__).T if self.names[part] == 'c_attn' else own

    def bias(self, part):
        if self.stored.get(part, {}).get('moves_bias'):
            return self.at(part, 'bias')
        own = getattr(getattr(self, self.names[part], None), 'bias', None)
        if own is None or self.names[part] != 'c_attn':
            return own
        return self.fused(part, own, lambda one: self.stored.get(one, {}).get('moves_bias'))

    def narrow(self, part, x):
        """What is cached of a projection of two matrices: x times the first"""
        down = self.at(part, 'down')
        return (x @ (down if self.stored[part].get('in_out') else down.T)).unsqueeze(1)

    def is_narrow(self, part):
        return 'down' in self.stored.get(part, ())

    def split(self, part, y):
        """[batch][tokens][heads * width] as [batch][heads][tokens][width]"""
        width = self.shape['d_value' if part == 'value' else 'd_head']
        return y.unflatten(-1, (-1, width)).transpose(1, 2)

    def project(self, part, x):
        if self.is_narrow(part):
            x = self.narrow(part, x).squeeze(1)
        return nn.functional.linear(x, self.weight(part), self.bias(part))

    def shared(self, x):
        """Queries and keys of one space, which a row of numbers weighs for each head. What the queries' biases add to a score is
        a number a head and key, cached after the key."""
        mixing, content = self.at('query', 'mixing'), self.at('key', 'content')
        queries = self.project('query', x).unsqueeze(1) * mixing.unsqueeze(1)
        keys = self.project('key', x)
        if content is not None:
            heads = torch.eye(len(mixing), dtype=x.dtype, device=x.device).unsqueeze(1)
            queries = torch.cat((queries, heads.expand(len(x), -1, x.shape[1], -1)), -1)
            keys = torch.cat((keys, x @ content.T), -1)
        return queries, keys.unsqueeze(1)

    def own(self, x, position_embeddings):
        queries = self.split('query', self.project('query', x))
        if self.is_narrow('key'):
            return queries, self.narrow('key', x)
        keys = self.split('key', self.project('key', x))
        if hasattr(self, 'q_norm'):
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        return self.rotate(queries, keys, *position_embeddings) if position_embeddings else (queries, keys)

    def widen(self, part, cached):
        if not self.is_narrow(part):
            return cached
        return self.split(part, nn.functional.linear(cached.squeeze(1), self.weight(part), self.bias(part)))

    def forward(self, hidden_states, position_embeddings=None, attention_mask=None, past_key_values=None, layer_past=None, **_):
        x, cache = hidden_states, past_key_values if past_key_values is not None else layer_past
        queries, keys = self.shared(x) if self.stored.get('query', {}).get('mixing') else self.own(x, position_embeddings)
        values = self.narrow('value', x) if self.is_narrow('value') else self.split('value', self.project('value', x))
        if cache is not None:
            cache = getattr(cache, 'self_attention_cache', cache)
            keys, values = cache.update(keys, values, self.layer_idx)
        keys, values = self.widen('key', keys), self.widen('value', values)
        n_heads = queries.shape[1]
        keys, values = (one.repeat_interleave(n_heads // one.shape[1], 1) for one in (keys, values))
        scores = queries @ keys.transpose(-2, -1) * self.scaling
        if attention_mask is not None:
            scores = scores + attention_mask
        weights = scores.softmax(-1, dtype=torch.float64 if x.dtype == torch.float64 else torch.float32).to(x.dtype)
        outputs = (weights @ values).transpose(1, 2).flatten(2)
        return (getattr(self, self.names['output'])(outputs) if 'output' in self.names else outputs), weights


# ---- loading ----

def files_of(folder):
    index = os.path.join(folder, 'model.safetensors.index.json')
    if not os.path.exists(index):
        return [os.path.join(folder, 'model.safetensors')]
    with open(index) as file:
        return [os.path.join(folder, name) for name in sorted(set(json.load(file)['weight_map'].values()))]


def record_of(paths):
    """The shapes of all modules that were compressed, from the files that hold them"""
    found = {}
    for path in paths:
        with open(path, 'rb') as file:
            size, = struct.unpack('<Q', file.read(8))
            metadata = json.loads(file.read(size)).get('__metadata__', {})
        found.update((shape['module'], shape) for shape in json.loads(metadata.get('attnledger.shapes', '[]')))
    return found.values()


def place(model, name, value):
    """Makes a tensor the parameter of its name. A checkpoint of the bare model lacks the prefix, or has one too many."""
    prefix = model.base_model_prefix + '.'
    if prefix != '.':
        has, wants = name.startswith(prefix), hasattr(model, prefix[:-1])
        name = name[len(prefix):] if has and not wants else prefix + name if wants and not has and not hasattr(
            model, name.split('.')[0]) else name
    *path, leaf = name.split('.')
    module = model
    for word in path:
        if not hasattr(module, word):
            module.add_module(word, nn.Module())
        module = getattr(module, word)
    old = module._parameters.get(leaf)
    if old is None and leaf in module._buffers or old is not None and old.shape == value.shape:
        return
    setattr(module, leaf, nn.Parameter(value.to(dtype=model.dtype, device=model.device), requires_grad=False))
    if leaf == 'weight' and hasattr(module, 'nf'):
        module.nf = value.shape[1]  # of GPT-2's Conv1D


def replace(model, record):
    found = [(name, module) for name, module in model.named_modules() if type(module).__name__ in NAMES]
    if not found:
        raise ValueError('the attention of %s is more than projections: attnledger alone runs this' % type(model).__name__)
    for shape in record:
        name, module = found[int(shape['module'].rsplit('.', 1)[1])]
        parent, _, leaf = name.rpartition('.')
        setattr(model.get_submodule(parent), leaf, Heads(module, shape))


def load(auto, folder, *args, config=None, **options):
    level = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()  # other shapes are what is expected here
    options['attn_implementation'] = 'eager'
    try:
        model = auto._model_mapping[type(config)].from_pretrained(folder, *args, config=config, ignore_mismatched_sizes=True, **options)
    finally:
        transformers.logging.set_verbosity(level)
    paths = files_of(folder)
    replace(model, record_of(paths))
    for path in paths:
        for name, value in load_file(path).items():
            if '.attn' in name or 'attention' in name or 'self_attn' in name:
                place(model, name, value)
    return model.eval()


class Runs:
    @classmethod
    def register_for_auto_class(cls, auto_class=None):
        """It is one already."""

    @classmethod
    def from_pretrained(cls, folder, *args, **options):
        return load(cls.auto, folder, *args, **options)


class Model(Runs):
    auto = transformers.AutoModel


class ModelForCausalLM(Runs):
    auto = transformers.AutoModelForCausalLM
