"""The vocabulary of a small tokenizer of Llama's kind, for what SentencePiece, llama2.c and llama.cpp make of it."""
import json
import struct

TYPES = {'<unk>': 2, '<s>': 3, '</s>': 3}  # SentencePiece's: 1 ordinary, 2 unknown, 3 control, 6 a byte


def read(path):
    """[(text, score, type)] by id; the earlier a piece is merged the higher is its score"""
    with open(path) as file:
        model = json.load(file)['model']
    scores = {}
    for rank, merge in enumerate(model['merges']):
        scores.setdefault(merge.replace(' ', ''), -float(rank))
    return [(text, scores.get(text, 0.0), TYPES.get(text, 6 if text.startswith('<0x') else 1))
            for text in sorted(model['vocab'], key=model['vocab'].get)]


def holds_special(line):
    """Does a line hold the text of a control token, which we read as that token and SentencePiece as letters, or U+2581,
    which llama2.c's file has no token for?"""
    return '\u2581' in line or any(text in line for text in TYPES)


def write_llama2c(path, pieces):
    with open(path, 'wb') as file:
        file.write(struct.pack('<i', max(len(text.encode()) for text, _, _ in pieces)))
        for text, score, _ in pieces:
            text = ('\n%s\n' % text if text in ('<s>', '</s>') else text.replace('\u2581', ' ')).encode()
            file.write(struct.pack('<fi', score, len(text)) + text)


def write_gguf(path, pieces):
    def text(value):
        return struct.pack('<Q', len(value.encode())) + value.encode()

    def array(kind, values):
        return struct.pack('<IIQ', 9, kind, len(values)) + b''.join(values)

    texts, scores, types = zip(*pieces)
    pairs = {'general.architecture': struct.pack('<I', 8) + text('llama'),
             'tokenizer.ggml.model': struct.pack('<I', 8) + text('llama'),
             'tokenizer.ggml.tokens': array(8, [text(one) for one in texts]),
             'tokenizer.ggml.scores': array(6, [struct.pack('<f', one) for one in scores]),
             'tokenizer.ggml.token_type': array(5, [struct.pack('<i', one) for one in types])}
    with open(path, 'wb') as file:
        file.write(b'GGUF' + struct.pack('<IQQ', 3, 0, len(pairs)))
        file.write(b''.join(text(key) + value for key, value in pairs.items()))
