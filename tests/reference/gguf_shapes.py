"""GGUF files of models' shapes, whose numbers are a hole, for what llama.cpp allocates, or made up, for what it computes."""
import functools
import math
import struct

U32, F32, TEXT = 4, 6, 8
BYTES = {'F32': (0, 4, 1), 'F16': (1, 2, 1), 'Q8_0': (8, 34, 32)}  # type, bytes of a block, numbers of a block


def layer(d, q, kv, ff, biases=(), **more):
    """Of a Llama: width, width of the queries, of keys and values, of the feed-forward layer"""
    shapes = {'attn_norm': [d], 'attn_q': [d, q], 'attn_k': [d, kv], 'attn_v': [d, kv], 'attn_output': [q, d], 'ffn_norm': [d],
              'ffn_gate': [d, ff], 'ffn_up': [d, ff], 'ffn_down': [ff, d]}
    shapes.update(more)
    found = {name + '.weight': shape for name, shape in shapes.items() if shape}
    found.update({name + '.bias': shapes[name][-1:] for name in biases})
    return found


def decoder(arch, n, d, heads, kv, head, ff, vocab, keys=(), tied=False, dtype='F16', **options):
    q = heads * head
    tensors = {'token_embd.weight': [d, vocab], 'output_norm.weight': [d], **({} if tied else {'output.weight': [d, vocab]})}
    for i in range(n):
        tensors.update(('blk.%d.%s' % (i, name), shape) for name, shape in layer(d, q, kv * head, ff, **options).items())
    return {'arch': arch, 'dtype': dtype, 'tensors': tensors, 'keys': {
        'block_count': n, 'context_length': 32768, 'embedding_length': d, 'feed_forward_length': ff, 'vocab_size': vocab,
        'attention.head_count': heads, 'attention.head_count_kv': kv, 'attention.key_length': head, 'attention.value_length': head,
        'attention.layer_norm_rms_epsilon': 1e-5, 'rope.dimension_count': head, 'rope.freq_base': 10000.0, **dict(keys)}}


def gpt2(n, d, heads, vocab):
    shapes = {'attn_norm': [d], 'attn_qkv': [d, 3 * d], 'attn_output': [d, d], 'ffn_norm': [d], 'ffn_up': [d, 4 * d],
              'ffn_down': [4 * d, d]}
    tensors = {'token_embd.weight': [d, vocab], 'position_embd.weight': [d, 1024], 'output_norm.weight': [d],
               'output_norm.bias': [d]}
    for i in range(n):
        for name, shape in shapes.items():
            tensors['blk.%d.%s.weight' % (i, name)], tensors['blk.%d.%s.bias' % (i, name)] = shape, shape[-1:]
    return {'arch': 'gpt2', 'dtype': 'F16', 'tensors': tensors, 'keys': {
        'block_count': n, 'context_length': 1024, 'embedding_length': d, 'feed_forward_length': 4 * d, 'vocab_size': vocab,
        'attention.head_count': heads, 'attention.layer_norm_epsilon': 1e-5}}


MODELS = {
    'llama 1B': decoder('llama', 16, 2048, 32, 8, 64, 8192, 128256, tied=True),
    'llama 1B Q8_0': decoder('llama', 16, 2048, 32, 8, 64, 8192, 128256, tied=True, dtype='Q8_0'),
    'qwen2 0.5B': decoder('qwen2', 24, 896, 14, 2, 64, 4864, 151936, tied=True, biases=('attn_q', 'attn_k', 'attn_v')),
    'qwen3 0.6B': decoder('qwen3', 28, 1024, 16, 8, 128, 3072, 151936, tied=True, attn_q_norm=[128], attn_k_norm=[128]),
    'gemma 2 2B': decoder('gemma2', 26, 2304, 8, 4, 256, 9216, 256000, tied=True, keys={
        'attention.sliding_window': 4096, 'attn_logit_softcapping': 50.0, 'final_logit_softcapping': 30.0},
        post_attention_norm=[2304], post_ffw_norm=[2304]),
    'llama mixture': decoder('llama', 8, 1024, 16, 4, 64, 3584, 32000, keys={'expert_count': 8, 'expert_used_count': 2},
                             ffn_gate=None, ffn_up=None, ffn_down=None, ffn_gate_inp=[1024, 8], ffn_gate_exps=[1024, 3584, 8],
                             ffn_up_exps=[1024, 3584, 8], ffn_down_exps=[3584, 1024, 8]),
    'gpt2': gpt2(12, 768, 12, 50257),
}


def text(value):
    encoded = value.encode()
    return struct.pack('<Q', len(encoded)) + encoded


def pair(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack('<I', TEXT) + text(value)
    return text(key) + (struct.pack('<If', F32, value) if isinstance(value, float) else struct.pack('<II', U32, value))


def array(key, kind, items):
    return text(key) + struct.pack('<IIQ', 9, kind, len(items)) + b''.join(items)


@functools.lru_cache(maxsize=1)
def vocabulary(n):
    """SentencePiece's special tokens and bytes, and made-up ones"""
    tokens = ['<unk>', '<s>', '</s>', *('<0x%02X>' % i for i in range(256)), *('t%d' % i for i in range(n - 259))]
    unknown, ordinary, control, byte = (struct.pack('<i', kind) for kind in (2, 1, 3, 6))
    return [array('tokenizer.ggml.tokens', TEXT, [text(token) for token in tokens]),
            array('tokenizer.ggml.scores', F32, [bytes(4)] * n),
            array('tokenizer.ggml.token_type', 5, [unknown, control, control, *[byte] * 256, *[ordinary] * (n - 259)])]


def dtype_of(model, name, shape):
    return 'F32' if len(shape) == 1 or 'gate_inp' in name else model['dtype']


def q8_0(values):
    for at in range(0, len(values), 32):
        block = values[at:at + 32]
        scale, = struct.unpack('<e', struct.pack('<e', max(map(abs, block)) / 127))
        yield struct.pack('<e32b', scale, *(max(-127, min(127, round(value / (scale or 1)))) for value in block))


def packed(values, dtype):
    if dtype == 'Q8_0':
        return b''.join(q8_0(values))
    return struct.pack('<%d%s' % (len(values), {'F32': 'f', 'F16': 'e'}[dtype]), *values)


def write(path, model, numbers=None):
    """One-dimensional tensors and routers are F32, as converters write them. `numbers`: of a name and a shape, rows first."""
    pairs = {'general.architecture': model['arch'], 'tokenizer.ggml.model': 'llama',
             **{'%s.%s' % (model['arch'], key): value for key, value in model['keys'].items()}}
    pairs = [pair(key, value) for key, value in pairs.items()] + vocabulary(model['keys']['vocab_size'])
    head, at = b'GGUF' + struct.pack('<IQQ', 3, len(model['tensors']), len(pairs)) + b''.join(pairs), 0
    places = {}
    for name, shape in model['tensors'].items():
        code, block, count = BYTES[dtype_of(model, name, shape)]
        head += text(name) + struct.pack('<I%dQIQ' % len(shape), len(shape), *shape, code, at)
        places[name] = at
        at += -(-math.prod(shape) // count * block // 32) * 32
    begin = -(-len(head) // 32) * 32
    with open(path, 'wb') as file:
        file.write(head)
        for name, place in places.items() if numbers else ():
            shape = model['tensors'][name]
            file.seek(begin + place)
            file.write(packed(numbers(name, shape[::-1]), dtype_of(model, name, shape)))
        file.truncate(begin + at)
