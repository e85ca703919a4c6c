#!/usr/bin/env python3
"""What PyTorch allocates in training and generation, by its own allocator, on a device with CUDA.

    torch_memory.py [--dry] [--only REGEX] [--seconds N] -o FILE

Each setting builds a model of transformers with random weights and runs three steps. The third is recorded: bytes
allocated before the step, after the forward pass, after the backward pass and after the optimizer; the peak of each
phase; memory reserved; and what was live after the forward pass and at the peak: (bytes, place in the source, tensors).
Writes the settings with all numbers as JSON, again after each setting. --dry: tiny models on the CPU, nothing measured.
"""
import argparse
import collections
import contextlib
import gc
import json
import os
import re
import time
import traceback

import torch
import transformers

GIB = 1 << 30
MARKER = 12345  # bytes of a tensor that marks the end of a phase
dry = False


def device():
    return 'cpu' if dry else 'cuda'


# ---- models ----

def llama(layers, width, heads, kv_heads, inner, vocab=128256, **more):
    return transformers.LlamaConfig(
        num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads, num_key_value_heads=kv_heads,
        intermediate_size=inner, vocab_size=vocab, head_dim=width // heads, max_position_embeddings=131072,
        rms_norm_eps=1e-5, **more)


MODELS = {
    'gpt2': lambda: transformers.GPT2Config(),
    'bert-base': lambda: transformers.BertConfig(),
    'llama-1b': lambda: llama(16, 2048, 32, 8, 8192, tie_word_embeddings=True),
    'llama-8b': lambda: llama(32, 4096, 32, 8, 14336),
    'qwen3-0.6b': lambda: transformers.Qwen3Config(
        num_hidden_layers=28, hidden_size=1024, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
        intermediate_size=3072, vocab_size=151936, max_position_embeddings=40960, tie_word_embeddings=True),
    'moe': lambda: transformers.MixtralConfig(
        num_hidden_layers=8, hidden_size=1024, num_attention_heads=16, num_key_value_heads=4, head_dim=64,
        intermediate_size=3584, num_local_experts=8, num_experts_per_tok=2, vocab_size=32000,
        max_position_embeddings=32768),
    'gemma2': lambda: transformers.Gemma2Config(
        num_hidden_layers=8, hidden_size=2304, num_attention_heads=8, num_key_value_heads=4, head_dim=256,
        intermediate_size=9216, vocab_size=256000, max_position_embeddings=8192),
    'mla': lambda: transformers.DeepseekV3Config(
        num_hidden_layers=4, hidden_size=2048, num_attention_heads=16, num_key_value_heads=16, q_lora_rank=768,
        kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, intermediate_size=6144,
        moe_intermediate_size=1024, n_routed_experts=16, n_group=4, topk_group=2, num_experts_per_tok=4,
        first_k_dense_replace=1, vocab_size=129280, max_position_embeddings=8192),
}


def shrunk(config):
    config.num_hidden_layers = 2
    if hasattr(config, 'layer_types') and config.layer_types:
        config.layer_types = config.layer_types[:2]
    for key in ('vocab_size', 'intermediate_size', 'moe_intermediate_size'):
        if getattr(config, key, None):
            setattr(config, key, 512)
    config.hidden_size = 96
    return config


def model_class(name):
    return transformers.AutoModelForMaskedLM if name == 'bert-base' else transformers.AutoModelForCausalLM


def build(name, dtype, attention, where=None):
    config = MODELS[name]()
    if dry:
        config = shrunk(config)
    with torch.device(where or device()), no_init():
        model = model_class(name).from_config(config, dtype=dtype, attn_implementation=attention)
    if where != 'meta':
        fill(model)
    return model


def no_init():
    try:
        return transformers.modeling_utils.no_init_weights()
    except AttributeError:
        return contextlib.nullcontext()


def fill(model):
    with torch.no_grad():
        for p in model.parameters():
            if p.dtype.is_floating_point:
                p.normal_(0, .02) if p.dim() > 1 else p.fill_(1)


# ---- what a setting asks for ----

def quantize(model):
    """Linear layers inside the blocks become NF4 with double quantization (bitsandbytes)."""
    import bitsandbytes as bnb

    for name, linear in [(n, m) for n, m in model.named_modules() if type(m) is torch.nn.Linear]:
        if 'lm_head' in name:
            continue
        new = bnb.nn.Linear4bit(linear.in_features, linear.out_features, bias=linear.bias is not None,
                                compute_dtype=torch.bfloat16, compress_statistics=True, quant_type='nf4', device='meta')
        new.weight = bnb.nn.Params4bit(linear.weight.data.cpu(), requires_grad=False, compress_statistics=True,
                                       quant_type='nf4', module=new)
        parent = model.get_submodule(name.rpartition('.')[0])
        setattr(parent, name.rpartition('.')[2], new.to(device()))
    return model


def add_lora(model, s):
    import peft

    targets = s['lora'] if s['lora'] == 'all-linear' else s['lora'].split(',')
    return peft.get_peft_model(model, peft.LoraConfig(r=s.get('rank', 16), target_modules=targets,
                                                      lora_dropout=s.get('lora_dropout', 0.), task_type='CAUSAL_LM'))


def blocks(model):
    for _, m in model.named_modules():
        if isinstance(m, torch.nn.ModuleList) and len(m) == getattr(model.config, 'num_hidden_layers', -1):
            return m
    raise LookupError('no blocks')


def make_mesh(*sizes):
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(device(), sizes)


def shard(model, s, mesh=None):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = mesh or make_mesh(s['fsdp'])
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in blocks(model):
        fully_shard(block, mesh=mesh, mp_policy=policy)
    if s.get('shard_ends'):  # as torchtitan: the embedding, and the last norm with the head, are units of their own
        fully_shard(model.model.embed_tokens, mesh=mesh, mp_policy=policy)
        fully_shard([model.model.norm, model.lm_head], mesh=mesh, mp_policy=policy, reshard_after_forward=False)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    model.to_empty(device=device())
    for buffer in model.buffers():
        buffer.fill_(.5)
    fill(model)
    return model


def group(size):
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group('fake', store=FakeStore(), rank=0, world_size=size)


def alone():
    import torch.distributed as dist

    dist.init_process_group('gloo' if dry else 'nccl', store=dist.HashStore(), rank=0, world_size=1)


def make_model(s):
    dtype = torch.bfloat16 if s['precision'] == 'bf16' else torch.float32
    if s.get('fsdp'):
        group(s['fsdp'])
        model = build(s['model'], torch.float32, s['attention'], 'meta')
    else:
        model = build(s['model'], dtype, s['attention'])
    if s.get('nf4'):
        model = quantize(model)
    if s.get('lora'):
        model = add_lora(model, s)
    if s.get('checkpointing'):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': False})
    if s.get('float8'):
        from torchao.float8 import Float8LinearConfig, convert_to_float8_training
        convert_to_float8_training(model, config=Float8LinearConfig(),
                                   module_filter_fn=lambda _, n: 'lm_head' not in n and 'output' not in n)
    if s.get('compile'):
        for block in blocks(model):
            block.compile()
    if s.get('fsdp'):
        shard(model, s)
    if s.get('ddp'):
        alone()
        model = torch.nn.parallel.DistributedDataParallel(model)
    model.train()
    return model


def make_optimizer(model, s):
    kind = s['optimizer']
    parameters = [p for p in model.parameters() if p.requires_grad]
    if kind == 'adamw':
        return torch.optim.AdamW(parameters, lr=1e-5, foreach=True)  # the default on CUDA
    if kind == 'adamw fused':
        return torch.optim.AdamW(parameters, lr=1e-5, fused=True)
    if kind == 'adamw loop':
        return torch.optim.AdamW(parameters, lr=1e-5, foreach=False)
    if kind == 'sgd':
        return torch.optim.SGD(parameters, lr=1e-5)
    if kind == 'adamw8bit bitsandbytes':
        import bitsandbytes as bnb
        return bnb.optim.AdamW8bit(parameters, lr=1e-5)
    if kind == 'adamw8bit paged bitsandbytes':
        import bitsandbytes as bnb
        return bnb.optim.PagedAdamW8bit(parameters, lr=1e-5)
    if kind == 'adamw8bit torchao':
        from torchao.optim import AdamW8bit
        return AdamW8bit(parameters, lr=1e-5)
    assert kind == 'adamw in backward', kind
    each = {p: torch.optim.AdamW([p], lr=1e-5, fused=True) for p in parameters}

    def step(p):
        each[p].step()
        each[p].zero_grad()
    model.in_backward = [p.register_post_accumulate_grad_hook(step) for p in parameters]
    return None


# ---- the allocator ----

def allocated():
    return 0 if dry else torch.cuda.memory_allocated()


class Phases:
    """Bytes at the end of each phase, and the peak within it."""

    def __init__(self):
        self.ends, self.peaks, self.reserved = {}, {}, 0

    def begin(self):
        if not dry:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()

    def end(self, name, mark=False):
        if dry:
            self.ends[name] = self.peaks[name] = 0
            return
        torch.cuda.synchronize()
        self.ends[name] = allocated()
        self.peaks[name] = torch.cuda.max_memory_allocated()
        self.reserved = max(self.reserved, torch.cuda.max_memory_reserved())
        if mark:
            torch.empty(MARKER, dtype=torch.uint8, device='cuda')
        torch.cuda.reset_peak_memory_stats()


def record(on):
    if not dry:
        if on:
            torch.cuda.memory._record_memory_history(enabled='all', context='alloc', stacks='python', max_entries=1000000,
                                                    clear_history=True)
        else:
            torch.cuda.memory._record_memory_history(enabled=None)


def place(frames):
    """file:line function < the operation that allocated"""
    inner = next((f for f in frames if 'torch_memory' not in f['filename']), None)
    outer = next((f for f in frames if re.search(r'/(transformers|peft)/|bitsandbytes/(nn|optim)', f['filename'])), None)

    def text(f):
        return '%s:%d %s' % (os.path.basename(f['filename']), f['line'], f['name']) if f else '-'
    return text(outer) + ' < ' + text(inner) if outer is not inner else text(inner)


def grouped(live):
    sums = collections.Counter((size, where) for size, where in live.values())
    rows = sorted(sums.items(), key=lambda r: -r[0][0] * r[1])
    return [[size, where, n] for (size, where), n in rows[:70]]


def replay():
    """What lives after the forward pass, and at the peak, of that which was allocated since recording began."""
    trace = torch.cuda.memory._snapshot()['device_traces'][torch.cuda.current_device()]
    live, total, most, peak_at, forward_at = {}, 0, -1, 0, None
    for i, e in enumerate(trace):
        if e['action'] == 'alloc':
            if e['size'] == MARKER and forward_at is None:
                forward_at = i
            live[e['addr']] = e['size']
            total += e['size']
        elif e['action'] == 'free_requested':
            total -= live.pop(e['addr'], 0)
        if total > most:
            most, peak_at = total, i
    result, live = {'peak_since_recording': most, 'events': len(trace)}, {}
    for i, e in enumerate(trace):
        if i == forward_at:
            result['after_forward'] = grouped(live)
        if e['action'] == 'alloc':
            live[e['addr']] = (e['size'], place(e.get('frames', [])))
        elif e['action'] == 'free_requested':
            live.pop(e['addr'], None)
        if i == peak_at:
            result['at_peak'] = grouped(live)
    return result


def clean():
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
    gc.collect()
    if not dry:
        if hasattr(torch._C, '_cuda_clearCublasWorkspaces'):
            torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()


# ---- settings ----

def train(s):
    phases = Phases()
    phases.begin()
    before = allocated()
    model = make_model(s)
    phases.end('model')
    optimizer = make_optimizer(model, s)
    batch, seq = (1, 8) if dry else (s['batch'], s['seq'])
    vocab = (getattr(model, 'module', model)).config.vocab_size
    ids = torch.randint(0, vocab, (batch, seq), device=device())
    autocast = (torch.autocast(device(), dtype=torch.bfloat16) if s['precision'] == 'autocast'
                else contextlib.nullcontext())
    for step in range(1 if dry else 3):
        if step == 2 and not dry:
            record(True)
        phases.end('before')
        with autocast:
            loss = model(input_ids=ids, labels=ids, **({} if s['model'] == 'bert-base' else {'use_cache': False})).loss
        phases.end('forward', mark=True)
        loss.backward()
        phases.end('backward', mark=True)
        if optimizer:
            optimizer.step()
        phases.end('optimizer', mark=True)
        if optimizer:
            optimizer.zero_grad(set_to_none=True)
        del loss
    result = {'base': before, 'ends': phases.ends, 'peaks': phases.peaks, 'reserved': phases.reserved,
              'parameters': sum(p.numel() for p in model.parameters()),
              'trained': sum(p.numel() for p in model.parameters() if p.requires_grad)}
    if not dry:
        result['trace'] = replay()
        record(False)
    for hook in getattr(model, 'in_backward', []):  # else the parameters are never freed
        hook.remove()
    return result


def cache_bytes(cache):
    tensors = {}

    def visit(o, depth=0):
        if isinstance(o, torch.Tensor):
            tensors[o.untyped_storage().data_ptr()] = o.untyped_storage().nbytes()
        elif isinstance(o, (list, tuple)):
            for x in o:
                visit(x, depth + 1)
        elif hasattr(o, '__dict__') and depth < 4:
            for x in vars(o).values():
                visit(x, depth + 1)
    visit(cache)
    return sum(tensors.values())


@torch.no_grad()
def generate(s):
    phases = Phases()
    phases.begin()
    before = allocated()
    model = build(s['model'], torch.bfloat16, s['attention']).eval()
    phases.end('model')
    batch, seq = (1, 8) if dry else (s['batch'], s['seq'])
    ids = torch.randint(0, model.config.vocab_size, (batch, seq), device=device())
    out = None
    for _ in range(2):
        out = None
        phases.end('before')
        out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
        phases.end('prefill')
    cache = cache_bytes(out.past_key_values)
    phases.end('before decode')
    model(input_ids=ids[:, :1], past_key_values=out.past_key_values, use_cache=True)
    phases.end('decode')
    out = None
    phases.end('before generate')
    model.generate(input_ids=ids, max_new_tokens=16, min_new_tokens=16, do_sample=False, pad_token_id=0)
    phases.end('generate')
    return {'base': before, 'ends': phases.ends, 'peaks': phases.peaks, 'reserved': phases.reserved, 'cache': cache,
            'parameters': sum(p.numel() for p in model.parameters())}


def training(model, batch, seq, precision, attention='sdpa', optimizer='adamw', **more):
    return {'use': 'train', 'model': model, 'batch': batch, 'seq': seq, 'precision': precision, 'attention': attention,
            'optimizer': optimizer, **more}


CHECKPOINTED = {'checkpointing': True}
SETTINGS = [
    training('gpt2', 8, 1024, 'f32', 'eager'),
    training('gpt2', 8, 1024, 'f32'),
    training('gpt2', 8, 1024, 'autocast'),
    training('gpt2', 8, 1024, 'bf16'),
    training('gpt2', 8, 1024, 'bf16', 'eager'),
    training('gpt2', 8, 1024, 'autocast', 'eager'),
    training('gpt2', 8, 1024, 'autocast', **CHECKPOINTED),
    training('gpt2', 8, 1024, 'autocast', optimizer='adamw fused'),
    training('gpt2', 8, 512, 'bf16'),
    training('bert-base', 16, 512, 'f32', 'eager'),
    training('bert-base', 16, 512, 'f32'),
    training('bert-base', 16, 512, 'autocast'),
    training('bert-base', 16, 512, 'bf16', **CHECKPOINTED),
    training('llama-1b', 2, 2048, 'f32'),
    training('llama-1b', 2, 2048, 'autocast'),
    training('llama-1b', 2, 2048, 'bf16'),
    training('llama-1b', 2, 2048, 'bf16', 'eager'),
    training('llama-1b', 2, 2048, 'bf16', **CHECKPOINTED),
    training('llama-1b', 2, 2048, 'autocast', **CHECKPOINTED),
    training('llama-1b', 2, 2048, 'bf16', optimizer='adamw fused'),
    training('llama-1b', 2, 2048, 'bf16', optimizer='adamw loop'),
    training('llama-1b', 2, 2048, 'bf16', optimizer='sgd'),
    training('llama-1b', 1, 8192, 'bf16', optimizer='adamw fused', **CHECKPOINTED),
    training('llama-1b', 1, 8192, 'bf16', optimizer='adamw fused'),
    training('llama-1b', 2, 2048, 'bf16', optimizer='adamw8bit bitsandbytes'),
    training('llama-1b', 2, 2048, 'bf16', optimizer='adamw8bit paged bitsandbytes'),
    training('llama-1b', 2, 2048, 'bf16', optimizer='adamw in backward'),
    training('llama-1b', 2, 2048, 'bf16', lora='all-linear'),
    training('llama-1b', 2, 2048, 'bf16', lora='q_proj,v_proj'),
    training('llama-1b', 2, 2048, 'bf16', lora='all-linear', **CHECKPOINTED),
    training('llama-1b', 2, 2048, 'bf16', lora='all-linear', lora_dropout=.05),
    training('llama-1b', 2, 2048, 'bf16', lora='all-linear', nf4=True),
    training('llama-1b', 2, 2048, 'autocast', ddp=True),
    training('llama-1b', 2, 2048, 'fsdp', fsdp=8, optimizer='adamw fused'),
    training('llama-1b', 2, 2048, 'fsdp', fsdp=8, optimizer='adamw fused', **CHECKPOINTED),
    training('qwen3-0.6b', 2, 2048, 'bf16'),
    training('qwen3-0.6b', 2, 2048, 'autocast'),
    training('qwen3-0.6b', 2, 2048, 'bf16', **CHECKPOINTED),
    training('qwen3-0.6b', 2, 2048, 'bf16', 'eager'),
    training('moe', 4, 1024, 'bf16'),
    training('moe', 4, 1024, 'autocast'),
    training('moe', 4, 1024, 'bf16', **CHECKPOINTED),
    training('gemma2', 2, 1024, 'bf16', 'eager'),
    {'use': 'generate', 'model': 'gpt2', 'batch': 8, 'seq': 1000, 'attention': 'sdpa'},
    {'use': 'generate', 'model': 'llama-1b', 'batch': 4, 'seq': 4096, 'attention': 'sdpa'},
    {'use': 'generate', 'model': 'llama-1b', 'batch': 4, 'seq': 4096, 'attention': 'eager'},
    {'use': 'generate', 'model': 'llama-8b', 'batch': 4, 'seq': 4096, 'attention': 'sdpa'},
    {'use': 'generate', 'model': 'qwen3-0.6b', 'batch': 4, 'seq': 4096, 'attention': 'sdpa'},
    {'use': 'generate', 'model': 'moe', 'batch': 4, 'seq': 4096, 'attention': 'sdpa'},
    {'use': 'generate', 'model': 'gemma2', 'batch': 2, 'seq': 6000, 'attention': 'sdpa'},
    {'use': 'generate', 'model': 'mla', 'batch': 4, 'seq': 4096, 'attention': 'sdpa'},
    training('llama-8b', 2, 2048, 'bf16', lora='q_proj,v_proj', rank=8, **CHECKPOINTED),
    training('llama-8b', 2, 2048, 'bf16', lora='all-linear', nf4=True, rank=8, **CHECKPOINTED),
    training('llama-8b', 1, 4096, 'bf16', lora='all-linear', nf4=True, rank=64, **CHECKPOINTED),
    training('llama-8b', 1, 8192, 'fsdp', fsdp=8, shard_ends=True, optimizer='adamw fused', **CHECKPOINTED),
    training('llama-8b', 1, 32768, 'fsdp', fsdp=8, shard_ends=True, optimizer='adamw fused', **CHECKPOINTED),
    training('llama-8b', 2, 8192, 'fsdp', fsdp=32, shard_ends=True, optimizer='adamw fused', **CHECKPOINTED),
    training('llama-8b', 1, 2048, 'bf16', optimizer='adamw fused', **CHECKPOINTED),
    training('llama-8b', 1, 2048, 'bf16', optimizer='adamw in backward', **CHECKPOINTED),
    training('gpt2', 4, 512, 'f32', **CHECKPOINTED),
    training('gpt2', 2, 1024, 'bf16', optimizer='sgd'),
    training('bert-base', 8, 256, 'autocast', 'eager'),
    training('bert-base', 32, 128, 'f32', optimizer='adamw fused'),
    training('llama-1b', 8, 512, 'bf16', optimizer='adamw fused'),
    training('llama-1b', 4, 1024, 'bf16', lora='q_proj,k_proj,v_proj,o_proj', rank=32, **CHECKPOINTED),
    training('llama-1b', 1, 8192, 'fsdp', fsdp=8, optimizer='adamw fused', **CHECKPOINTED),
    training('qwen3-0.6b', 1, 4096, 'autocast', **CHECKPOINTED),
    training('moe', 2, 2048, 'autocast', **CHECKPOINTED),
    training('gemma2', 1, 2048, 'bf16', 'eager', **CHECKPOINTED),
    training('llama-8b', 1, 4096, 'bf16', lora='all-linear', **CHECKPOINTED),
    training('llama-8b', 1, 4096, 'fsdp', fsdp=4, optimizer='adamw fused'),
    training('llama-1b', 2, 2048, 'bf16', optimizer='adamw8bit torchao'),
    training('llama-1b', 2, 2048, 'bf16', optimizer='adamw fused', compile=True),
    training('llama-1b', 2, 2048, 'fsdp', fsdp=8, optimizer='adamw fused', compile=True),
    training('llama-8b', 1, 8192, 'fsdp', fsdp=8, shard_ends=True, optimizer='adamw fused', compile=True, float8=True,
             **CHECKPOINTED),
    training('llama-8b', 1, 32768, 'fsdp', fsdp=8, shard_ends=True, optimizer='adamw fused', compile=True, float8=True,
             **CHECKPOINTED),
]


def title(s):
    return ' '.join('%s=%s' % (k, v) for k, v in s.items() if k != 'use')


def about_device():
    if dry:
        return {}
    free, total = torch.cuda.mem_get_info()
    p = torch.cuda.get_device_properties(0)
    return {'name': p.name, 'total_memory': p.total_memory, 'mem_get_info': [free, total]}


def main():
    global dry
    parser = argparse.ArgumentParser()
    parser.add_argument('--dry', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('--seconds', type=float, default=1e9)
    parser.add_argument('-o', required=True)
    a = parser.parse_args()
    dry = a.dry
    began = time.time()
    results = {'versions': {'torch': torch.__version__, 'transformers': transformers.__version__},
               'device': about_device(),
               'configs': {n: json.loads(make().to_json_string(use_diff=False)) for n, make in MODELS.items()}, 'settings': []}
    for s in SETTINGS:
        if not re.search(a.only, title(s)) or time.time() - began > a.seconds:
            continue
        at = time.time()
        try:
            result = train(s) if s['use'] == 'train' else generate(s)
        except Exception as e:
            result = {'error': '%s: %s' % (type(e).__name__, str(e)[:300]), 'at': traceback.format_exc()[-1500:]}
            with contextlib.suppress(Exception):
                record(False)
        clean()
        result['seconds'] = round(time.time() - at, 1)
        results['settings'].append({'setting': s, 'result': result})
        peak = max(result.get('peaks', {'': 0}).values())
        print('%5.0f s %s: peak %.3f GiB reserved %.3f left %.3f %s' % (
            time.time() - began, title(s), peak / GIB, result.get('reserved', 0) / GIB, allocated() / GIB,
            result.get('error', '')), flush=True)
        with open(a.o, 'w') as file:
            json.dump(results, file)


if __name__ == '__main__':
    main()
