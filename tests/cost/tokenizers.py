"""Tokenizers, and texts for them."""
from weights import llama2c

PAIRS = {'type': 'BPE', 'vocab': {'a': 0, 'b': 1, 'aa': 2, 'aaaa': 3}, 'merges': ['a a', 'aa aa']}
EVALUATE = ['evaluate @/m.bin --text @/text -q']


def tokenizer(text='a' * 900000, model=PAIRS, **parts):
    """A document: the tokenizer of a small model, and a text for it."""
    return 'tokenizer.json', {'model': model, **parts}, EVALUATE, {'m.bin': llama2c(300, 64), 'text': text}


def split(pattern):
    return {'type': 'Split', 'pattern': {'Regex': pattern}, 'behavior': 'Isolated', 'invert': False}


DOCUMENTS = {
    'one letter': tokenizer(),
    'many words': tokenizer('ab ' * 300000, pre_tokenizer={'type': 'Whitespace'}),
    'pattern that backtracks': tokenizer(pre_tokenizer=split('(a+)+b')),
    'pattern of two ways': tokenizer('ab' * 450000, pre_tokenizer=split('(a|b|ab)+c')),
    'replacements that grow': tokenizer(normalizer={'type': 'Sequence', 'normalizers': [
        {'type': 'Replace', 'pattern': {'String': 'a'}, 'content': 'a' * 50}] * 10}),
    'much before': tokenizer(normalizer={'type': 'Sequence', 'normalizers': [
        {'type': 'Prepend', 'prepend': 'a' * 900}] * 900}),
    'many normal forms': tokenizer(normalizer={'type': 'Sequence', 'normalizers': [{'type': 'NFKD'}] * 20000}),
    'long pieces': tokenizer(model={'type': 'Unigram', 'unk_id': 0, 'vocab': [['<unk>', 0]] + [
        ['a' * i, -float(i)] for i in range(1, 1300)]}),
    'long words': tokenizer(model={'type': 'WordPiece', 'unk_token': 'a', 'continuing_subword_prefix': '##',
                                   'max_input_chars_per_word': 10 ** 9, 'vocab': {'a': 0, '##a': 1, 'b': 2}}),
    'many added tokens': tokenizer(added_tokens=[
        {'id': 4 + i, 'content': 'a' * (i + 1) + 'b', 'special': False, 'single_word': False, 'lstrip': False,
         'rstrip': False, 'normalized': False} for i in range(1000)]),
    'pieces of one letter': tokenizer(text='a b ' * 220000, pre_tokenizer=split('.')),
    'pieces of a long vocabulary': tokenizer(model={'type': 'BPE', 'merges': [], 'vocab': {f'{i:x}': i for i in range(60000)}}),
    'merges in a chain': tokenizer(model={'type': 'BPE', 'vocab': {'a' * (i + 1): i for i in range(300)}, 'merges': [
        f'a {"a" * i}' for i in range(1, 300)]}),
    'pattern of four ways': tokenizer(('a' * 14 + '\n') * 10000, pre_tokenizer=split('(?:a|a|aa|aa)*[bc]')),
    'pattern that counts': tokenizer(('a' * 999 + ' ') * 120, pre_tokenizer=split(
        '|'.join(['(?=a)\\p{L}{1000}[xy]'] * 290))),
    'pattern that looks ahead': tokenizer(pre_tokenizer=split('(?=.*b)a|a')),
    'pattern that reads on': tokenizer(pre_tokenizer=split('(?:(?=a*+[cd])b)+|a*+[de]')),
    'pattern that looks for none': tokenizer(pre_tokenizer=split('(?<!b)(?:a(?!.*c))*+x|a')),
    'pattern that looks behind': tokenizer(pre_tokenizer=split(
        '|'.join(f'(?<=[ab]{{{900 + i}}}c|[bc]{{900}})a' for i in range(100)))),
    'patterns of much code': tokenizer(pre_tokenizer={'type': 'Sequence', 'pretokenizers': [
        split('(?:(?:a|b){100}){8}c')] * 7000}),
    'replaced and split': tokenizer('a' * 1000, normalizer={
        'type': 'Replace', 'pattern': {'String': 'a'}, 'content': 'a' * 4000}, pre_tokenizer={
            'type': 'Sequence', 'pretokenizers': [split('a'), split('.')]}),
    'many replacements': tokenizer('a' * 130000, normalizer={'type': 'Sequence', 'normalizers': [
        {'type': 'Replace', 'pattern': {'String': 'a'}, 'content': 'aa'}] + [
        {'type': 'Replace', 'pattern': {'String': 'a'}, 'content': 'a'}] * 61}),
    'long literal': tokenizer(normalizer={
        'type': 'Replace', 'pattern': {'String': 'a' * 200000 + 'b' + 'a' * 9}, 'content': 'a'}),
    'blanks to strip': tokenizer(' ' * 900000 + 'a', normalizer={
        'type': 'Strip', 'strip_left': True, 'strip_right': True}),
    'long prefix': tokenizer(model={**PAIRS, 'continuing_subword_prefix': 'x' * 300000, 'merges': []}),
    'many special tokens': tokenizer('a\n' * 400000, post_processor={
        'type': 'TemplateProcessing', 'single': [{'SpecialToken': {'id': 's', 'type_id': 0}}] * 10000 + [
            {'Sequence': {'id': 'A', 'type_id': 0}}], 'pair': [], 'special_tokens': {
                's': {'id': 's', 'ids': [0] * 100000, 'tokens': []}}}),
    'special tokens of many lines': tokenizer('a\n' * 400000, post_processor={
        'type': 'TemplateProcessing', 'single': [{'SpecialToken': {'id': 's', 'type_id': 0}}, {
            'Sequence': {'id': 'A', 'type_id': 0}}], 'pair': [], 'special_tokens': {
                's': {'id': 's', 'ids': [0] * 100000, 'tokens': []}}}),
    'normal forms that grow': tokenizer('\ufdfa' * 300000, normalizer={'type': 'NFKD'}),
    'words of BERT': tokenizer(text='attention is all you need ' * 35000, normalizer={
        'type': 'BertNormalizer', 'clean_text': True, 'handle_chinese_chars': True, 'strip_accents': True, 'lowercase': True},
        pre_tokenizer={'type': 'BertPreTokenizer'}, model={'type': 'WordPiece', 'unk_token': '[UNK]', 'continuing_subword_prefix': '##',
            'max_input_chars_per_word': 100, 'vocab': {'[UNK]': 0, **{c: i + 1 for i, c in enumerate('abcdefghijklmnopqrstuvwxyz')}}}),
    'a line of words': tokenizer(text='attention is all you need ' * 35000, model={
        'type': 'Unigram', 'unk_id': 0, 'vocab': [['<unk>', 0]] + [[c, -1.0] for c in 'abcdefghijklmnopqrstuvwxyz \u2581']},
        pre_tokenizer={'type': 'Sequence', 'pretokenizers': [
            {'type': 'WhitespaceSplit'}, {'type': 'Metaspace', 'replacement': '\u2581', 'prepend_scheme': 'always', 'split': True}]}),
}
