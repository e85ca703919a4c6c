#!/usr/bin/env python3
"""What PyTorch allocates and reserves in training on many devices, without any: tensors that have no data.

    torch_fake.py [--check] [--only REGEX] -o FILE

Each setting trains a model of transformers for three steps under FakeTensorMode, in a process group that sends nothing.
A dispatch mode hears of every storage that comes, is resized and goes. Their sum is what torch.cuda.max_memory_allocated
would give; played into a copy of CUDA's caching allocator, it gives max_memory_reserved. The two workspaces of cuBLAS,
of the forward and the backward thread, are added. --check repeats settings that torch_memory.py measured on a device,
and prints both. Writes the peaks of the third step, and what was reserved, as JSON.
"""
import argparse
import bisect
import collections
import contextlib
import functools
import json
import re
import time
import traceback
import weakref

import torch
import torch.nn.functional as F
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._sharding_prop import ShardingPropagator
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

import torch_memory as real

GIB, MIB = 1 << 30, 1 << 20
WORKSPACES = 2 * 32 * MIB  # ATen/cuda/CUDABlas.cpp, parseChosenWorkspaceSize, from Hopper on: one per thread and stream


# ---- storages ----

def rounded(n):
    return (n + 511) // 512 * 512


class Storages(TorchDispatchMode):
    """Bytes of all storages: now, at the most, and each change as (sign, storage, bytes, stream)."""

    def __init__(self):
        super().__init__()
        self.live, self.now, self.peak, self.events, self.n = {}, 0, 0, [], 0

    def change(self, key, size):
        old = self.live.pop(key, 0)
        if size:
            self.live[key] = size
        if old != size:
            stream = id(torch.cpu.current_stream())
            self.events += ([(-1, key, old, stream)] if old else []) + ([(1, key, size, stream)] if size else [])
            self.now += size - old
            self.peak = max(self.peak, self.now)

    def see(self, tensor):
        storage = tensor.untyped_storage()
        if not hasattr(storage, 'key'):
            self.n += 1
            storage.key = self.n
            weakref.finalize(storage, self.change, storage.key, 0)
        self.change(storage.key, rounded(storage.nbytes()))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(issubclass(t, DTensor) for t in types):
            return NotImplemented  # its local operations come by themselves
        out = args[0] if func is torch.ops._c10d_functional.wait_tensor.default else func(*args, **(kwargs or {}))
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor) and t.device.type != 'meta':
                self.see(t)
        return out


storages = None
resize_of_torch = torch.UntypedStorage.resize_


def resize(storage, n):
    out = resize_of_torch(storage, n)
    if hasattr(storage, 'key'):
        storages.change(storage.key, rounded(n))
    return out


torch.UntypedStorage.resize_ = resize


# ---- the allocator ----

class Block:
    def __init__(self, segment, offset, size, pool):
        self.segment, self.offset, self.size, self.pool = segment, offset, size, pool
        self.before = self.after = None
        self.is_free = False

    def key(self):
        return self.size, self.segment, self.offset


class Allocator:
    """c10/cuda/CUDACachingAllocator.cpp: default settings, memory without end. Pools are of a stream and a size."""

    def __init__(self):
        self.reserved, self.segments, self.blocks, self.free = 0, 0, {}, collections.defaultdict(list)

    def find(self, size, pool):
        free = self.free[pool]
        at = bisect.bisect_left(free, (size, -1, -1), key=Block.key)
        if at < len(free):
            return free.pop(at)
        segment = 2 * MIB if size <= MIB else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        self.reserved += segment
        self.segments += 1
        return Block(self.segments, 0, segment, pool)

    def put(self, block):
        block.is_free = True
        bisect.insort(self.free[block.pool], block, key=Block.key)

    def allocate(self, key, size, stream):
        block = self.find(size, (stream, size <= MIB))
        rest = block.size - size
        if rest >= 512 if size <= MIB else rest > MIB:
            new = Block(block.segment, block.offset + size, rest, block.pool)
            new.before, new.after = block, block.after
            if block.after:
                block.after.before = new
            block.after, block.size = new, size
            self.put(new)
        block.is_free = False
        self.blocks[key] = block

    def join(self, a, b):
        a.size += b.size
        a.after = b.after
        if b.after:
            b.after.before = a

    def release(self, key):
        block = self.blocks.pop(key)
        for other in (block.before, block.after):
            if other and other.is_free:
                free = self.free[other.pool]
                free.pop(bisect.bisect_left(free, other.key(), key=Block.key))
                first, second = (other, block) if other is block.before else (block, other)
                self.join(first, second)
                block = first
        self.put(block)


def reserved_by(events):
    allocator = Allocator()
    for i in range(2):
        allocator.allocate('workspace %d' % i, WORKSPACES // 2, None)
    for sign, key, size, stream in events:
        if sign > 0:
            allocator.allocate(key, size, stream)
        else:
            allocator.release(key)
    return allocator.reserved


# ---- operations as on CUDA ----

def attend(module, query, key, value, mask, scaling=None, dropout=0., **_):
    if torch.is_autocast_enabled('cpu'):
        query, key, value = (t.to(torch.bfloat16) for t in (query, key, value))
    out = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout if module.training else 0., True,
                                                             scale=scaling)[0]
    return out.transpose(1, 2).contiguous(), None


def drop(values, p=.5, training=True, inplace=False):
    return torch.ops.aten.native_dropout(values, p, True)[0] if training and p else values


transformers.AttentionInterface.register('kernel', attend)
F.dropout = drop


class Adam:
    """AdamW(fused=True): states of the parameters' dtype, no temporaries."""

    def __init__(self, parameters):
        self.parameters, self.states = [p for p in parameters if p.requires_grad], {}

    @torch.no_grad()
    def step(self):
        for p in self.parameters:
            if p not in self.states:
                self.states[p] = torch.zeros((), dtype=torch.float32), torch.zeros_like(p), torch.zeros_like(p)

    def zero_grad(self, set_to_none):
        for p in self.parameters:
            p.grad = None


def without_modes(make):
    @functools.wraps(make)
    def call(*args, **kwargs):
        with _disable_current_modes():
            return make(*args, **kwargs)
    return call


def group_of(size):
    """Ranks of a group are looked up by tensors with data."""
    with _disable_current_modes():
        join(size)


join = real.group
real.group, real.device, real.make_mesh = group_of, lambda: 'cpu', without_modes(real.make_mesh)
for name in ('__init__', '__getitem__', 'get_coordinate'):
    setattr(DeviceMesh, name, without_modes(getattr(DeviceMesh, name)))
DeviceMesh._compute_coordinates_from_mesh = staticmethod(without_modes(DeviceMesh._compute_coordinates_from_mesh))
ShardingPropagator._propagate_tensor_meta_non_cached = without_modes(ShardingPropagator._propagate_tensor_meta_non_cached)
real.MODELS['llama-70b'] = lambda: real.llama(80, 8192, 64, 8, 28672)


# ---- settings ----

@without_modes
def mesh_of(dp, tp):
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh('cpu', (dp, tp), mesh_dim_names=('dp', 'tp'))
    return mesh['dp'], mesh['tp']


def cut(model, mesh):
    """Tensor and sequence parallelism by torchtitan's plan (2024, parallelisms/parallelize_llama.py, apply_tp)."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                                   parallelize_module)

    ends = {'model.embed_tokens': RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            'model.norm': SequenceParallel(),
            'lm_head': ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}
    layer = {'input_layernorm': SequenceParallel(),
             'self_attn': PrepareModuleInput(input_kwarg_layouts={'hidden_states': Shard(1)},
                                             desired_input_kwarg_layouts={'hidden_states': Replicate()}),
             'self_attn.o_proj': RowwiseParallel(output_layouts=Shard(1)),
             'post_attention_layernorm': SequenceParallel(),
             'mlp': PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
             'mlp.down_proj': RowwiseParallel(output_layouts=Shard(1))}
    for name in ('self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj', 'mlp.gate_proj', 'mlp.up_proj'):
        layer[name] = ColwiseParallel()
    parallelize_module(model, mesh, ends)
    for block in real.blocks(model):
        parallelize_module(block, mesh, layer)


def every_other_product():
    """torchtitan, _apply_ac_to_transformer_block: keeps attention's output and each first of two products."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    kept = {torch.ops.aten.mm.default, torch.ops.aten._scaled_dot_product_flash_attention.default,
            torch.ops._c10d_functional.reduce_scatter_tensor.default}
    products = {True: 0, False: 0}

    def policy(context, op, *args, **kwargs):
        if op is torch.ops.aten.mm.default:
            products[context.is_recompute] += 1
            if products[context.is_recompute] % 2 == 0:
                return CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE
    return create_selective_checkpoint_contexts(policy)


def on_host():
    return torch.autograd.graph.saved_tensors_hooks(lambda t: t.to('meta'),
                                                    lambda t: torch.empty_like(t, device=real.device()))


def checkpoint(model, how):
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    layers = real.blocks(model)
    every = int(how) if how.isdigit() else 1
    more = {'context_fn': every_other_product} if how == 'selective' else {}
    for i in range(every - 1, len(layers), every):
        layers[i] = checkpoint_wrapper(layers[i], preserve_rng_state=False, **more)


def adapted(s):
    """peft moves its adapters, which tensors without data refuse."""
    with _disable_current_modes():
        model = real.add_lora(real.build(s['model'], torch.bfloat16, s['attention'], 'meta'), s)
    model.to_empty(device=real.device())
    model.get_base_model().tie_weights()
    return model


def make_model(s):
    if s.get('lora'):
        model = adapted(s)
    else:
        dtype = torch.bfloat16 if s['precision'] == 'bf16' else torch.float32
        model = real.build(s['model'], dtype, s['attention'], 'meta' if s.get('fsdp') else None)
    if s.get('fsdp'):
        real.group(s['fsdp'] * s.get('tp', 1))
    if s.get('tp'):
        dp, tp = mesh_of(s['fsdp'], s['tp'])
        cut(model, tp)
    if s.get('checkpointing'):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': False})
    if s.get('recompute'):
        checkpoint(model, s['recompute'])
    if s.get('fsdp'):
        real.shard(model, s, dp if s.get('tp') else None)
    return model.train()


def parts_of(model):
    """The decoder and its head, adapters or none."""
    model = model.get_base_model() if hasattr(model, 'get_base_model') else model
    return model.model, model.lm_head


def last_states(model, ids):
    return parts_of(model)[0](input_ids=ids, position_ids=torch.arange(ids.shape[1])[None],
                              use_cache=False).last_hidden_state


def logits_at_once(model, ids):
    return parts_of(model)[1](last_states(model, ids)),


def logits_in_chunks(model, ids):
    return [parts_of(model)[1](part) for part in last_states(model, ids).chunk(8, dim=1)]


def loss_of_logits(logits, ids):
    """torchtitan, components/loss.py; torchtune, modules/loss/ce_chunked_output_loss.py"""
    return sum(F.cross_entropy(part.flatten(0, 1).float(), label.flatten(), reduction='sum')
               for part, label in zip(logits, ids.chunk(len(logits), dim=1)))


class Fused(torch.autograd.Function):
    """Allocates as Liger Kernel 0.8 on CUDA, ops/fused_linear_cross_entropy.py, fused_linear_cross_entropy_forward."""

    @staticmethod
    def forward(ctx, states, weight, ids):
        tokens, (vocab, width) = len(ids), weight.shape
        chunk = 1 << (-(-tokens // -(-vocab // width)) - 1).bit_length()
        gradients = torch.zeros_like(states), torch.zeros_like(weight)
        losses = torch.zeros(tokens, dtype=torch.float32)
        logits = torch.empty((chunk, vocab), dtype=states.dtype)
        for at in range(0, tokens, chunk):
            part = states[at:at + chunk]
            torch.mm(part, weight.t(), out=logits)
            torch.mm(logits, weight, out=gradients[0][at:at + chunk])
            torch.addmm(gradients[1], logits.t(), part, out=gradients[1])
        ctx.save_for_backward(*gradients)
        return losses.sum()

    @staticmethod
    def backward(ctx, gradient):
        return (*ctx.saved_tensors, None)


def fused_loss(model, ids):
    return Fused.apply(last_states(model, ids).flatten(0, 1), parts_of(model)[1].weight, ids.flatten())


FORWARD = {'chunked': logits_in_chunks, 'fused': fused_loss, 'unfused': logits_at_once}


def loss_of(model, s, ids):
    kind = s.get('loss', 'unfused' if s.get('tp') else None)
    if not kind:
        return model(input_ids=ids, labels=ids, use_cache=False).loss
    model.forward = functools.partial(FORWARD[kind], model)
    out = model(ids)
    return out if kind == 'fused' else loss_of_logits(out, ids)


def contexts(s):
    stack = contextlib.ExitStack()
    if s['precision'] == 'autocast':
        stack.enter_context(torch.autocast('cpu', dtype=torch.bfloat16))
    if s.get('recompute') == 'offloaded':
        stack.enter_context(on_host())
    return stack


def steps(model, optimizer, s):
    peaks, ends = {}, {}

    def end(phase):
        peaks[phase], ends[phase] = storages.peak, storages.now
        storages.peak = storages.now
    ids = torch.randint(0, 1000, (s['batch'], s['seq']))
    for _ in range(3):
        end('before')
        with contexts(s):
            loss = loss_of(model, s, ids)
        end('forward')
        loss.backward()
        end('backward')
        optimizer.step()
        end('optimizer')
        optimizer.zero_grad(set_to_none=True)
        del loss
    return {'peaks': {k: v + WORKSPACES for k, v in peaks.items()}, 'ends': {k: v + WORKSPACES for k, v in ends.items()}}


def train(s):
    from torch.distributed.tensor.parallel import loss_parallel

    global storages
    storages = Storages()
    s = {**s, 'attention': 'kernel' if s['attention'] == 'sdpa' else s['attention']}
    with FakeTensorMode(allow_non_fake_inputs=True), storages:
        model = make_model(s)
        optimizer = Adam(model.parameters()) if 'fused' in s['optimizer'] else real.make_optimizer(model, s)
        with loss_parallel() if s.get('tp') else contextlib.nullcontext():
            result = steps(model, optimizer, s)
    result['reserved'] = reserved_by(storages.events)
    return result


def sharded(model, batch, seq, **more):
    return real.training(model, batch, seq, 'fsdp', optimizer='adamw fused', shard_ends=True, **more)


SETTINGS = [
    real.training('llama-1b', 2, 2048, 'bf16', lora='all-linear', lora_dropout=.05),
    real.training('llama-1b', 2, 2048, 'bf16', lora='q_proj,v_proj', lora_dropout=.05),
    real.training('llama-8b', 1, 4096, 'bf16', lora='all-linear', lora_dropout=.05, checkpointing=True),
    real.training('llama-1b', 2, 2048, 'bf16', optimizer='adamw fused', recompute='2'),
    real.training('llama-1b', 2, 2048, 'bf16', optimizer='adamw fused', recompute='4'),
    real.training('llama-1b', 2, 2048, 'bf16', optimizer='adamw fused', recompute='selective'),
    real.training('llama-1b', 1, 8192, 'bf16', optimizer='adamw fused', recompute='offloaded'),
    real.training('llama-1b', 2, 2048, 'bf16', optimizer='adamw fused', loss='chunked'),
    real.training('llama-1b', 2, 2048, 'bf16', optimizer='adamw fused', loss='fused'),
    real.training('llama-1b', 1, 8192, 'bf16', optimizer='adamw fused', recompute='full', loss='chunked'),
    real.training('llama-1b', 1, 8192, 'bf16', optimizer='adamw fused', recompute='full', loss='fused'),
    sharded('llama-8b', 2, 8192, fsdp=8, recompute='selective'),
    sharded('llama-8b', 2, 8192, fsdp=128, recompute='selective'),
    sharded('llama-8b', 1, 8192, fsdp=8, recompute='2'),
    sharded('llama-8b', 1, 8192, fsdp=8, recompute='offloaded'),
    sharded('llama-8b', 1, 32768, fsdp=8, recompute='full', loss='chunked'),
    sharded('llama-8b', 1, 8192, fsdp=8, tp=4),
    sharded('llama-8b', 4, 8192, fsdp=8, tp=4, recompute='full'),
    sharded('llama-8b', 2, 8192, fsdp=8, tp=8, recompute='selective'),
    sharded('llama-70b', 2, 8192, fsdp=8, tp=8, recompute='full'),
    sharded('llama-70b', 16, 8192, fsdp=32, tp=8, recompute='full'),
]


# ---- all of them ----

def is_possible(s):
    """Compiled code, quantized weights and their kernels need a device; fp32 has another attention kernel."""
    return s['use'] == 'train' and s['precision'] != 'f32' and (s['precision'] != 'autocast' or s['model'] != 'moe') and s['model'] not in ('gpt2', 'bert-base') and not (
        s.get('compile') or s.get('nf4') or 'bit' in s['optimizer'] or 'backward' in s['optimizer'] or s.get('ddp'))


def run(s):
    try:
        return train(s)
    except Exception as e:
        return {'error': '%s: %s' % (type(e).__name__, str(e)[:300]), 'at': traceback.format_exc()[-3000:]}
    finally:
        real.clean()


def check(only):
    with open('tests/reference/torch_memory.json') as file:
        measured = json.load(file)['settings']
    for one in measured:
        s, there = one['setting'], one['result']
        if not is_possible(s) or not re.search(only, real.title(s)):
            continue
        here = run(s)
        if 'error' in here:
            print(here['error'], real.title(s))
            continue
        pairs = [(max(r['peaks'][k] for k in ('forward', 'backward', 'optimizer')), r['reserved']) for r in (there, here)]
        print('allocated %7.3f %7.3f GiB, reserved %7.3f %7.3f: %s' % (
            pairs[0][0] / GIB, pairs[1][0] / GIB, pairs[0][1] / GIB, pairs[1][1] / GIB, real.title(s)), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('-o')
    a = parser.parse_args()
    if a.check:
        check(a.only)
        return
    results = {'versions': {'torch': torch.__version__, 'transformers': transformers.__version__},
               'configs': {n: json.loads(real.MODELS[n]().to_json_string(use_diff=False)) for n in ('llama-70b',)},
               'settings': []}
    for s in SETTINGS:
        if not re.search(a.only, real.title(s)):
            continue
        at = time.time()
        result = run(s)
        results['settings'].append({'setting': s, 'result': result})
        print('%.0f s %s: peaks %s GiB, reserved %.3f %s' % (
            time.time() - at, real.title(s), {k: round(v / GIB, 3) for k, v in result.get('peaks', {}).items()},
            result.get('reserved', 0) / GIB, result.get('at', '')), flush=True)
    if a.o:
        with open(a.o, 'w') as file:
            json.dump(results, file, indent=1)


if __name__ == '__main__':
    main()
