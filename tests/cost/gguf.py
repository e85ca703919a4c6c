"""GGUF files: metadata, tensors, tokenizers."""
import struct

U8, U32, BOOL, TEXT, LIST, U64 = 0, 4, 7, 8, 9, 10


def text(word):
    return struct.pack('<Q', len(word)) + word


def pair(key, kind, value):
    return text(key) + struct.pack('<I', kind) + value


def words(key, items):
    return pair(key, LIST, struct.pack('<IQ', TEXT, len(items)) + b''.join(text(item) for item in items))


def info(name, shape=(), kind=0, offset=0):
    return text(name) + struct.pack(f'<I{len(shape)}QIQ', len(shape), *shape, kind, offset)


def gguf(pairs=(), infos=(), data=b'', n_pairs=None, n_infos=None):
    """A file; other numbers than those of its lists, if given."""
    head = b'GGUF' + struct.pack('<IQQ', 3, len(infos) if n_infos is None else n_infos,
                                 len(pairs) if n_pairs is None else n_pairs)
    body = head + b''.join(pairs) + b''.join(infos)
    return body + bytes(-len(body) % 32) + data


def llama(**sizes):
    """Metadata of a small model."""
    facts = {'block_count': 2, 'embedding_length': 8, 'feed_forward_length': 16, 'context_length': 64,
             'attention_head_count': 2, 'vocab_size': 8, **sizes}
    return [pair(b'general.architecture', TEXT, text(b'llama'))] + [
        pair(b'llama.' + key.replace('attention_', 'attention.').encode(), U32, struct.pack('<I', value))
        for key, value in facts.items()]


def asks(*pairs, **more):
    return 'd.gguf', gguf(pairs, **more), ['inspect @/d.gguf', 'count @/d.gguf', 'memory @/d.gguf --seq 64']


def tokens(model, items, *pairs):
    """A model's tokenizer, and a text."""
    return 'd.gguf', gguf([*llama(), pair(b'tokenizer.ggml.model', TEXT, text(model)), words(b'tokenizer.ggml.tokens', items),
                           *pairs], [info(b'token_embd.weight', (8, 8))], bytes(256)), [
        'inspect @/d.gguf', 'evaluate @/d.gguf --text @/text -q'], {'text': 'a' * 900000}


NESTED = b''.join(struct.pack('<IQ', LIST, 1) for _ in range(70000))

DOCUMENTS = {
    'gguf pairs without end': lambda: asks(n_pairs=(1 << 64) - 1),
    'gguf tensors without end': lambda: asks(n_infos=(1 << 64) - 1),
    'gguf many pairs': lambda: asks(*[pair(b'%d' % i, BOOL, b'\1') for i in range(16000)]),
    'gguf one key often': lambda: asks(*[pair(b'k', BOOL, b'\1')] * 16000),
    'gguf long key': lambda: asks(pair(b'k' * 900000, BOOL, b'\1')),
    'gguf many long keys': lambda: asks(*[pair(b'k' * 60000 + b'%d' % i, BOOL, b'\1') for i in range(15)]),
    'gguf long text': lambda: asks(pair(b'general.name', TEXT, text(b'n' * 900000)), *llama()),
    'gguf text without end': lambda: asks(pair(b'general.name', TEXT, struct.pack('<Q', (1 << 64) - 1))),
    'gguf list without end': lambda: asks(pair(b'l', LIST, struct.pack('<IQ', U8, (1 << 64) - 1))),
    'gguf long list': lambda: asks(pair(b'l', LIST, struct.pack('<IQ', U8, 900000) + bytes(900000))),
    'gguf many short lists': lambda: asks(*[pair(b'%d' % i, LIST, struct.pack('<IQ', U64, 3) + bytes(24)) for i in range(14000)]),
    'gguf empty texts': lambda: asks(words(b'l', [b''] * 110000)),
    'gguf lists in lists': lambda: asks(pair(b'l', LIST, NESTED)),
    'gguf empty tensors': lambda: asks(infos=[info(b'%d' % i, (0,)) for i in range(25000)]),
    'gguf tensors of no name': lambda: asks(infos=[info(b'')] * 40000),
    'gguf long tensor names': lambda: asks(infos=[info(b'n' * 60000 + b'%d' % i, (0,)) for i in range(15)]),
    'gguf large tensor': lambda: asks(infos=[info(b't', ((1 << 62),))]),
    'gguf many layers': lambda: asks(*llama(block_count=(1 << 32) - 1)),
    'gguf many heads': lambda: asks(*llama(attention_head_count=(1 << 32) - 1, embedding_length=(1 << 32) - 1)),
    'gguf heads of many layers': lambda: asks(*[p for p in llama(block_count=200000) if b'head_count' not in p], pair(
        b'llama.attention.head_count', LIST, struct.pack('<IQ', U32, 200000) + struct.pack('<I', 2) * 200000)),
    'gguf many parts': lambda: asks(pair(b'split.count', 2, struct.pack('<H', 65535)), pair(b'split.no', 2, bytes(2))),
    'gguf of many layers\' tensors': lambda: asks(*llama(block_count=2000), infos=[
        info(b'blk.%d.attn_%s.weight' % (i // 4, (b'q', b'k', b'v', b'output')[i % 4]), (0, 0)) for i in range(8000)]),
    'gguf tokens': lambda: tokens(b'llama', [b'%d' % i for i in range(60000)]),
    'gguf one token often': lambda: tokens(b'llama', [b'a'] * 80000),
    'gguf long tokens': lambda: tokens(b'llama', [b'a' * i for i in range(1, 1300)]),
    'gguf merges': lambda: tokens(b'gpt2', [b'a' * i for i in range(1, 300)],
                                  words(b'tokenizer.ggml.merges', [b'a ' + b'a' * i for i in range(1, 299)])),
    'gguf many merges': lambda: tokens(b'gpt2', [b'a', b'aa'], words(b'tokenizer.ggml.merges', [b'a a'] * 70000)),
}
