"""Documents that people write: configs, variants, scenarios, data."""


def variant(tensors, **more):
    return {'name': 'worst', 'title': 'Worst', 'source': 'none', 'tensors': tensors, **more}


def tensors(n, formula):
    return [{'name': f'W{i}', 'role': 'query', 'shape': [formula.replace('%', str(i))]} for i in range(n)]


def scenario(**more):
    return {'title': 'Worst', 'model': 'bert-base', 'set': {'batch': 32, 'seq': 512}, 'recipe': 'smith2022',
            'variants': ['mha', 'mqa'], **more}


LETTERS = {c: c for c in 'abcdefgh'}
SET = '--set ' + ' --set '.join(f'{c}=3' for c in LETTERS)
LLAMA = {'model_type': 'llama', 'hidden_size': 64, 'num_attention_heads': 4, 'intermediate_size': 128,
         'vocab_size': 1000, 'num_hidden_layers': 2}
V3 = {'model_type': 'deepseek_v3'}
CELLS = [{'id': f't{t}', 'rows': 'product', 'columns': ['parameters', 'total', 'cache', 'flops']
          + [{'key': f'c{i}', 'formula': f'100*total/total[mha] + {i}'} for i in range(200)]} for t in range(40)]
QUESTIONS = ['count @/d.json', 'cache @/d.json --seq 1024', 'memory @/d.json --batch 2 --seq 64']


def quantized(names):
    """Of a config: the modules that a quantization leaves alone."""
    return {'quantization_config': {'quant_method': 'fp8', 'weight_block_size': [128, 128], 'modules_to_not_convert': list(names)}}


def paper(name, text):
    return name, text, [f'check @/{name}', f'check @/{name} --draft-map']


DOCUMENTS = {
    'log of one line': ('log.txt', 'avail mem=1 Load weight end. model weights take 1 ' * 20000,
                        ['fit gpt2 --log @/log.txt']),
    'log of many figures': ('log.txt', 'GPU KV cache size: 1 tokens\n' * 37000, ['fit gpt2 --log @/log.txt']),
    'deep arrays': ('d.json', '[' * 900000, ['count @/d.json', 'check @/d.json', 'variants @/d.json']),
    'deep objects': ('d.json', '{"a":' * 150000, ['count @/d.json', 'check @/d.json']),
    'many keys': ('d.json', {**LLAMA, **{f'k{i}': i for i in range(60000)}}, QUESTIONS + ['count @/d.json --explain']),
    'long key': ('d.json', {**LLAMA, 'k' * 900000: 1}, QUESTIONS + ['count @/d.json --explain']),
    'long number': ('d.json', '{"model_type": "llama", "hidden_size": ' + '9' * 900000 + '}', QUESTIONS),
    'long word': ('d.json', {**LLAMA, 'model_type': 'm' * 900000}, QUESTIONS),
    'most layers': ('d.json', {**LLAMA, 'num_hidden_layers': 1 << 40}, QUESTIONS + ['count @/d.json --tensors']),
    'layers of experts': ('d.json', {**V3, 'num_hidden_layers': 4096, 'n_routed_experts': 1 << 20},
                          QUESTIONS + ['count @/d.json --tensors']),
    'layers unlike': ('d.json', {'model_type': 'gemma3_text', 'num_hidden_layers': 4000, 'layer_types':
                                 ['sliding_attention' if i * i % 7 < 3 else 'full_attention' for i in range(4000)]},
                      QUESTIONS + ['count @/d.json --tensors']),
    'long list': ('d.json', {'model_type': 'smollm3', 'num_hidden_layers': 60000, 'no_rope_layers':
                             [i % 2 for i in range(60000)]}, QUESTIONS),
    'blocks unlike': lambda: ('d.json', {
        'model_type': 'nemotron-nas', 'hidden_size': 4096, 'num_attention_heads': 32, 'num_hidden_layers': 6000,
        'vocab_size': 32000, 'max_position_embeddings': 2048, 'block_configs': [
            {'attention': {'n_heads_in_group': 1 << i % 4, 'no_op': False, 'replace_with_linear': False},
             'ffn': {'ffn_mult': round(1 + i / 1000000, 6), 'no_op': False, 'replace_with_linear': False}} for i in range(6000)]}, QUESTIONS),
    'many tensors': ('d.json', variant(tensors(1024, 'a*b*c + a*d'), symbols=LETTERS),
                     ['variants @/d.json', 'count @/d.json ' + SET]),
    'kept factors': ('d.json', variant(tensors(1024, 'mod(a*%, b)'), symbols=LETTERS), ['variants @/d.json']),
    'powers': ('d.json', variant(tensors(1000, '(a+b+c+d+e+f+g+h+%)^8'), symbols=LETTERS),
               ['variants @/d.json', 'count @/d.json ' + SET]),
    'powers of powers': ('d.json', variant(tensors(1, '((((((a^9)^9)^9)^9)^9)^9)^9'), symbols=LETTERS),
                         ['variants @/d.json', 'count @/d.json ' + SET]),
    'cases': ('d.json', variant(tensors(1000, 'if(a > %, b, c)*if(b > %, d, e)*if(c > %, f, g)'), symbols=LETTERS),
              ['variants @/d.json', 'count @/d.json ' + SET]),
    'many letters': ('d.json', variant(tensors(1000, '(a+b+c)*(d+e+f)*(g+h+a)*(b+c+%)'), symbols=LETTERS),
                     ['variants @/d.json', 'variants @/d.json --order a']),
    'long sum': ('d.json', variant(tensors(1, '+'.join(['a'] * 200000)), symbols=LETTERS), ['variants @/d.json']),
    'deep formula': ('d.json', variant(tensors(1, '(' * 200000 + 'a' + ')' * 200000), symbols=LETTERS),
                     ['variants @/d.json']),
    'deep signs': ('d.json', variant(tensors(1, '-' * 800000 + 'a'), symbols=LETTERS), ['variants @/d.json']),
    'large numbers': ('d.json', variant(tensors(900, '9' * 900 + '*a'), symbols=LETTERS),
                      ['variants @/d.json', 'count @/d.json ' + SET]),
    'many products': ('d.json', variant(tensors(1, 'a'), symbols=LETTERS, products=[
        {'name': f'p{i}', 'left': ['seq', '(a+b)^8'], 'right': ['(a+b)^8', 'c'], 'count': 'n_heads'}
        for i in range(1000)]), ['sweep @/d.json --over seq=1:5000 --measure flops --set n_heads=2 --batch 1 ' + SET]),
    'long names': ('d.json', variant([{'name': 'W' * 800, 'role': 'query', 'shape': ['a']}] * 1000, symbols=LETTERS),
                   ['variants @/d.json', 'count @/d.json ' + SET]),
    'many checks': ('d.json', variant(tensors(100, 'a*b'), symbols=LETTERS, checks=[
        {'source': 's', 'with': {'a': i, 'b': 2}, 'parameters': i} for i in range(10000)]), ['variants @/d.json']),
    'many claims': ('d.json', scenario(tables=[{'id': 't', 'columns': ['parameters', 'total']}], claims=[
        {'id': f'c{i}', 'printed': str(i), 'value': 't/mha/total'} for i in range(12000)]), ['check @/d.json']),
    'claims of wide sums': ('d.json', scenario(data=[
        {'id': 'd', 'columns': ['variant'] + [f'm{i}' for i in range(15)], 'rows': [['mha'] + ['1.5'] * 15]}], claims=[
        {'id': f'c{i}', 'printed': '0.1', 'value': '+'.join(f'x{k}*x{(k + 1) % 15}' for k in range(15)),
         'with': {f'x{k}': f'd/mha/m{k}' for k in range(15)}} for i in range(1200)]), ['check @/d.json']),
    'claims of quotients': ('d.json', scenario(data=[
        {'id': 'd', 'columns': ['variant'] + [f'm{i}' for i in range(8)], 'rows': [['mha'] + [f'1.{i + 1}' for i in range(8)]]}], claims=[
        {'id': f'c{i}', 'printed': '0.1', 'value': 'max((x0-x1)/(x2-x3), mod(x4*x5, x6)*x7, (x0*x1-x2)/(x3*x4-x5*x6))',
         'with': {f'x{k}': f'd/mha/m{k}' for k in range(8)}} for i in range(2000)]), ['check @/d.json']),
    'printed polynomials': ('d.json', scenario(tables=[{'id': 't', 'columns': ['formula']}], claims=[
        {'id': f'c{i}', 'printed': '(a+b+c+d+%d)^8' % i, 'value': 't/mha/formula',
         'symbols': {'a': 'd_model', 'b': 'n_heads', 'c': 'd_head', 'd': 'seq'}} for i in range(5000)]),
        ['check @/d.json']),
    'wide sweep': ('d.json', scenario(sweeps=[{'id': 's', 'over': {'seq': {'from': 1, 'to': 1 << 40, 'step': 1}},
                                               'measure': 'parameters'}]), ['run @/d.json -o @/o']),
    'full sweep': ('d.json', scenario(sweeps=[{'id': 's', 'over': {'seq': {'from': 1, 'to': 186000, 'step': 1}},
                                               'measure': ['parameters', 'total']}]), ['run @/d.json -o @/o -q']),
    'many sweeps': ('d.json', scenario(sweeps=[
        {'id': f's{i}', 'over': {'seq': {'from': 1, 'to': 100000, 'step': 1}}, 'measure': 'total'}
        for i in range(1000)]), ['run @/d.json -o @/o']),
    'sweep of four': ('d.json', scenario(sweeps=[{'id': 's', 'measure': 'total', 'over': {
        s: {'from': 1, 'to': 30, 'step': 1} for s in ('n_heads', 'd_head', 'seq', 'batch')}}]),
        ['run @/d.json -o @/o']),
    'many cells': ('d.json', scenario(cases=[{'id': f'k{i}', 'set': {'seq': i + 1}} for i in range(100)],
                                      tables=CELLS), ['run @/d.json -o @/o']),
    'many cases': ('d.json', scenario(cases=[{'id': f'k{i}', 'set': {'seq': i + 1}} for i in range(9000)],
                                      tables=[{'id': 't', 'columns': ['parameters', 'total', 'flops', 'cache']}]),
                   ['run @/d.json -o @/o']),
    'chained columns': ('d.json', scenario(tables=[{'id': 't', 'columns': [
        {'key': f'c{i}', 'formula': f'c{i - 1} + c{i - 1}' if i else 'parameters'} for i in range(900)]}]),
        ['run @/d.json -o @/o']),
    'many points': ('d.json', scenario(
        data=[{'id': 'd', 'columns': ['variant', 'x', 'y'], 'rows': [[f'v{i}', str(i), str(i * i % 977)]
                                                                   for i in range(9000)]}],
        tables=[{'id': 't', 'rows': 'data:d', 'columns': ['score:x', 'score:y']}],
        figures=[{'id': 'f', 'of': 't', 'mark': 'point', 'x': 'score:x', 'y': 'score:y', 'label': 'variant'}]),
        ['run @/d.json -o @/o']),
    'sweep drawn': ('d.json', scenario(
        sweeps=[{'id': 's', 'over': {'seq': {'from': 1, 'to': 50000, 'step': 1}}, 'measure': 'total'}],
        figures=[{'id': f'f{i}', 'of': 's', 'mark': 'line', 'x': 'seq', 'y': 'total', 'series': 'variant'}
                 for i in range(3)]), ['run @/d.json -o @/o']),
    'many ticks': ('d.json', scenario(
        sweeps=[{'id': 's', 'over': {'seq': [1, 2]}, 'measure': 'total'}],
        figures=[{'id': 'f', 'of': 's', 'mark': 'line', 'x': {'column': 'seq', 'min': 0, 'max': 10 ** 15},
                  'y': {'column': 'total', 'min': -10 ** 300, 'max': 10 ** 300}, 'series': 'variant'}]),
        ['run @/d.json -o @/o']),
    'wide csv': ('d.csv', ','.join(f'm{i}' for i in range(100000)) + '\n' + ','.join('1' * 100000), []),
    'patterns of one word': lambda: ('d.json', {**V3, **quantized(f'model.layers.{i}.mlp' for i in range(30000))}, QUESTIONS),
    'patterns with stars': lambda: ('d.json', {**V3, **quantized(f'*a*b*c*d*{i}' for i in range(50000))}, QUESTIONS),
    'patterns of letters': lambda: ('d.json', {**V3, **quantized('*' + '[a-z]*' * 100 + str(i) for i in range(1500))}, QUESTIONS),
    'expressions': lambda: ('d.json', {**V3, **quantized(f're:.*{i}' for i in range(24000))}, QUESTIONS),
    'optional groups': lambda: ('d.json', {**V3, **quantized('re:' + '(.*)?' * 48 + str(i) for i in range(4000))}, QUESTIONS),
    'repeated groups': lambda: ('d.json', {**V3, **quantized('re:' + '(.*)*' * 40 + str(i) for i in range(3000))}, QUESTIONS),
    'nested repetitions': lambda: ('d.json', {**V3, **quantized('re:' + '(' * 80 + 'a' + '+)' * 80 + str(i) for i in range(3000))}, QUESTIONS),
    'family of many tensors': lambda: ('d.json', {'name': 'worst', 'title': 'Worst', 'model_types': ['worst'], 'config': {
        c: {'key': c, 'default': 3} for c in LETTERS}, 'modules': [], 'tensors': [
            {'name': f't{i}', 'part': 'embedding', 'shape': ['+'.join(['d_model'] * 60)]} for i in range(1000)]}, ['count gpt2 --family @/d.json']),
    'long csv': lambda: ('d.csv', 'variant,m\n' + ''.join(f'v{i},{i}\n' for i in range(70000)), []),
    'quoted csv': lambda: ('d.csv', 'variant,m\n' + '"' + '""' * 400000, []),
    'lines of csv': lambda: ('d.csv', '\n' * 900000, []),
    'paper of tables': lambda: paper('d.tex', '\\begin{tabular}{ll}\na & 1 \\\\\n\\end{tabular}\n' * 19000),
    'paper of one table': lambda: paper('d.tex', '\\begin{tabular}{ll}\n' + 'Parameters & 1,234 \\\\\n' * 36000 + '\\end{tabular}\n'),
    'paper of wide tables': lambda: paper('d.tex', '\\begin{tabular}{l}\n' + ('1 &' * 20000 + '\\\\\n') * 14 + '\\end{tabular}\n'),
    'paper of tables within tables': lambda: paper('d.tex', '\\begin{tabular}{l}\n' * 40000),
    'paper of columns': lambda: paper('d.tex', '\\begin{tabular}{' + '*{99}{' * 40 + 'l' + '}' * 40 + '}\na & 1\n\\end{tabular}'),
    'paper of cells over many': lambda: paper('d.tex', '\\begin{tabular}{l}\n' + '\\multicolumn{999999999}{l}{a} &' * 25000 + '\n\\end{tabular}'),
    'paper of rows over many': lambda: paper('d.tex', '\\begin{tabular}{l}\n' + '\\multirow{99999}{*}{a} & 1 \\\\\n' * 20000 + '\\end{tabular}'),
    'paper of macros': lambda: paper('d.tex', ''.join(f'\\newcommand{{\\m{chr(97 + i)}}}{{' + (f'\\m{chr(96 + i)}' * 9 if i else '1') + '}\n'
                                                    for i in range(20)) + '\\mt ' * 100000),
    'paper of arguments': lambda: paper('d.tex', '\\newcommand{\\a}[1]{#1}\n' + '\\a{' * 200000 + '}' * 200000),
    'paper of open arguments': lambda: paper('d.tex', '\\newcommand{\\a}[2]{#1}\n' + '\\a{' * 150000 + '\n' + '}' * 150000),
    'paper of citations': lambda: paper('d.tex', '\\cite{' * 100000 + '\n' + '}' * 100000),
    'paper of definitions': lambda: paper('d.tex', '\\newcommand{\\ab}{\\ab}\\ab\n' * 30000),
    'paper of chains': lambda: paper('d.tex', ''.join(f'\\def\\{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}'
                                                    f'{{\\{chr(97 + (i + 1) % 26)}{chr(97 + (i + 1) // 26 % 26)}{chr(97 + (i + 1) // 676)}}}\n' for i in range(10000))
                                    + '\\aaa\n' * 1000),
    'paper of inputs': lambda: ('d.tex', '\\input{e}\n' * 80000, ['check @/d.tex'], {'e.tex': '\\input{d}\\input{f}' * 1000}),
    'paper of rows in a line': lambda: paper('d.tex', '\\begin{tabular}{ll}' + 'MHA & 1 \\\\' * 80000 + '\\end{tabular}'),
    'paper of dollars': lambda: paper('d.tex', '$' * 900000),
    'paper of braces': lambda: paper('d.tex', '{' * 900000),
    'paper of sentences': lambda: paper('d.tex', 'The model has 7.5 million parameters and 12 heads. ' * 18000),
    'paper of comments': lambda: paper('d.tex', '%\n' * 450000),
    'paper in pipes': lambda: paper('d.md', '|' * 900000),
    'paper of pipe tables': lambda: paper('d.md', '| a | b |\n|---|---|\n| mha | 1 |\n\n' * 24000),
    'paper of one pipe table': lambda: paper('d.md', '| a | b |\n|---|---|\n' + '| mha | 1 |\n' * 70000),
    'paper of plain text': lambda: paper('d.txt', 'a  1  2\n' * 100000),
    'map of many tables': lambda: ('d.tex', '\\begin{tabular}{ll}\na & 1 \\\\\n\\end{tabular}\n' * 100, ['check @/d.tex --map @/m.json'], {
        'm.json': {'model': 'bert-base', 'tables': [{'table': i + 1, 'columns': []} for i in range(1000)]}}),
}
