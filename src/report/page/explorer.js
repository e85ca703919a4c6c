
'use strict';
(function () {
  const by = id => document.getElementById(id);
  const data = JSON.parse(by('data').textContent);
  const LIMIT = 1n << 53n, MOST_LINES = 6;
  Error.stackTraceLimit = 0; /* errors say why there is no number: many, and nobody traces them */

  /* ---- exact numbers: a fraction in lowest terms, its denominator above 0 ---- */

  const divisor = (a, b) => { while (b) [a, b] = [b, a % b]; return a < 0n ? -a : a; };
  function fraction(n, d) {
    if (d === 1n) return {n, d};
    const g = divisor(n, d) * (d < 0n ? -1n : 1n);
    return {n: n / g, d: d / g};
  }
  const whole = n => ({n: BigInt(n), d: 1n});
  const floor = a => (a.n - ((a.n % a.d) + a.d) % a.d) / a.d;
  const add = (a, b) => fraction(a.n * b.d + b.n * a.d, a.d * b.d);
  const minus = (a, b) => fraction(a.n * b.d - b.n * a.d, a.d * b.d);
  const times = (a, b) => fraction(a.n * b.n, a.d * b.d);
  const order = (a, b) => a.n * b.d - b.n * a.d;
  const truth = holds => whole(holds ? 1 : 0);
  const fractionText = a => a.d === 1n ? String(a.n) : a.n + '/' + a.d;

  function over(a, b) {
    if (b.n === 0n) throw new Error('division by zero');
    return fraction(a.n * b.d, a.d * b.n);
  }
  function power(a, b) {
    if (b.d !== 1n || b.n < 0n || b.n > 64n) throw new Error('an exponent that is not a whole number from 0 to 64');
    return {n: a.n ** b.n, d: a.d ** b.n};
  }

  const operators = {
    '+': add, '-': minus, '*': times, '/': over, '^': power,
    ceil_div: (a, b) => { const q = over(a, b); return {n: -floor({n: -q.n, d: q.d}), d: 1n}; },
    mod: (a, b) => minus(a, times({n: floor(over(a, b)), d: 1n}, b)),
    '==': (a, b) => truth(order(a, b) === 0n), '!=': (a, b) => truth(order(a, b) !== 0n),
    '<': (a, b) => truth(order(a, b) < 0n), '<=': (a, b) => truth(order(a, b) <= 0n),
    '>': (a, b) => truth(order(a, b) > 0n), '>=': (a, b) => truth(order(a, b) >= 0n),
  };

  /* ---- formulas: operands stand before their operator; only what is needed is evaluated ---- */

  const arity = {'~': 1, '!': 1, 'if': 3};

  function tree(postfix) {
    const stack = [];
    for (const token of postfix.split(' ')) {
      const many = /^(min|max):(\d+)$/.exec(token);
      if (/^\d+$/.test(token)) stack.push({value: whole(token)});
      else if (many) stack.push({op: many[1], args: stack.splice(-many[2])});
      else if (operators[token] || arity[token] || token === 'and' || token === 'or')
        stack.push({op: token, args: stack.splice(-(arity[token] || 2))});
      else stack.push({symbol: token});
    }
    return stack[0];
  }
  const formulas = data.formulas.map(([source, postfix]) => ({source, tree: tree(postfix)}));

  function evaluate(node, scope) {
    if (node.value) return node.value;
    if (node.symbol) return scope(node.symbol);
    const value = i => evaluate(node.args[i], scope), holds = i => value(i).n !== 0n;
    switch (node.op) {
    case '~': return minus(whole(0), value(0));
    case '!': return truth(!holds(0));
    case 'and': return truth(holds(0) && holds(1));
    case 'or': return truth(holds(0) || holds(1));
    case 'if': return value(holds(0) ? 1 : 2);
    case 'min':
    case 'max':
      return node.args.map((_, i) => value(i)).reduce((a, b) => (order(b, a) < 0n) === (node.op === 'min') ? b : a);
    default: return operators[node.op](value(0), value(1));
    }
  }

  function wholeOf(place, scope, least) {
    const formula = formulas[place], value = evaluate(formula.tree, scope);
    if (value.d === 1n && value.n >= least && value.n < LIMIT) return value.n;
    const says = formula.source + ' = ' + fractionText(value);
    if (value.d !== 1n) throw new Error(says + ' is not a whole number');
    if (value.n < least) throw new Error(says + ', expected ' + least + ' or more');
    throw new Error(says + ', expected less than 2^53');
  }

  /* ---- state ---- */

  const symbols = new Map(data.symbols.map(symbol => [symbol.name, symbol]));
  const variants = new Map(data.variants.map(variant => [variant.name, variant]));
  const dtypes = data.dtypes.filter(dtype => dtype[0]);
  const state = {};

  function start() {
    state.values = new Map(data.symbols.map(s => [s.name, s.start === null ? '' : String(s.start)]));
    state.tied = new Set(data.symbols.filter(s => s.default !== null && s.start === null).map(s => s.name));
    state.options = new Map();
    data.variants.forEach(v => v.options.forEach(([name, on]) => state.options.set(v.name + '.' + name, on)));
    state.per = data.per;
    state.dtype = data.dtypes[data.dtype][0];
    state.chosen = new Set(['mha', 'gqa', 'mqa', 'mla'].filter(name => variants.has(name)));
    if (variants.size < 12 || !state.chosen.size) state.chosen = new Set(variants.keys());
    state.which = state.chosen.values().next().value;
    for (const symbol of data.symbols)
      if (symbol.default !== null && symbol.start !== null && defaultText(symbol) === String(symbol.start))
        state.tied.add(symbol.name);
  }

  const isWhole = text => /^\d{1,16}$/.test(text) && BigInt(text) < LIMIT;

  function followed(name, formula, scope) {
    try {
      return whole(wholeOf(formula, scope, 0n));
    } catch (error) {
      throw new Error('default of ' + name + ': ' + error.message);
    }
  }

  /* A symbol's value, where the variant neither holds it fixed nor has it as an option; `sizes` are
     those of its paper. */
  function look(name, scope, seq, sizes) {
    const symbol = symbols.get(name);
    if (name === 'seq' && seq !== undefined) return whole(seq);
    if (symbol && state.tied.has(name)) return followed(name, symbol.default, scope);
    const text = state.values.get(name);
    if (text !== undefined && isWhole(text)) return whole(text);
    if (sizes[name] === undefined) throw new Error('symbol "' + name + '" is not set');
    return followed(name, sizes[name], scope);
  }

  /* What symbols are worth to a variant, each found once; `used` learns what was asked for. */
  function scopeOf(variant, used, seq) {
    const found = new Map();
    function scope(name) {
      let value = found.get(name);
      if (value) return value;
      const option = variant && state.options.get(variant.name + '.' + name);
      if (variant && variant.fixed[name] !== undefined) value = whole(variant.fixed[name]);
      else if (option !== undefined && option !== null) value = whole(option);
      else {
        used.add(name);
        value = look(name, scope, seq, variant ? variant.sizes : {});
      }
      found.set(name, value);
      return value;
    }
    return scope;
  }

  function defaultText(symbol) {
    try {
      return String(wholeOf(symbol.default, scopeOf(null, new Set()), 0n));
    } catch (error) {
      return '';
    }
  }

  const textOf = name => state.tied.has(name) ? defaultText(symbols.get(name)) : state.values.get(name);

  /* ---- lines and sums ---- */

  const NAME = 0, DIMS = 1, SHARED = 2, COUNT = 3, WHEN = 4, TOKENS = 5, PER = 6, DTYPE = 7, INNER = 8, IN_FP8 = 9;
  const has = (line, at) => line[at] !== undefined && line[at] !== null;

  /* A line's elements with what the basis covers; null: it isn't there. */
  function elements(line, scope) {
    if (has(line, WHEN) && evaluate(formulas[line[WHEN]].tree, scope).n === 0n) return null;
    const dims = line[DIMS].map(place => wholeOf(place, scope, 1n));
    if (has(line, INNER) && wholeOf(line[INNER], scope, 1n) !== dims[1]) throw new Error('widths of the product differ');
    const count = has(line, COUNT) ? wholeOf(line[COUNT], scope, 0n) : 1n;
    const shared = data.times[line[SHARED] || 0];
    const covered = state.per === 'model' && shared !== null ? wholeOf(shared, scope, 1n) : 1n;
    return {dims, count, covered, all: dims.reduce((a, b) => a * b, count * covered)};
  }

  const nouns = {tensors: 'tensor', cache: 'cache', products: 'product'};

  function evaluateLines(variant, list, scope) {
    const found = [];
    let wrong = null;
    for (const line of variant[list]) {
      try {
        const e = elements(line, scope);
        if (e) found.push({line, ...e});
      } catch (error) {
        wrong = wrong || new Error(nouns[list] + ' ' + line[NAME] + ': ' + error.message);
      }
    }
    return {found, wrong};
  }

  /* The lines of a list that are there; an error names the line. Three columns sum the cache: a scope keeps its lines. */
  function lines(variant, list, scope) {
    scope.lists = scope.lists || {};
    const {found, wrong} = scope.lists[list] = scope.lists[list] || evaluateLines(variant, list, scope);
    if (wrong) throw wrong;
    return found;
  }

  const dtypeNamed = name => dtypes.find(d => d[0] === name);
  const isNarrow = dtype => 2 * dtype[2] > dtype[1];

  /* Where it has no format of its own, what is cached once for a sequence has one of at least two bytes. */
  function dtypeOf(line) {
    const asked = dtypeNamed(state.dtype);
    if (has(line, DTYPE)) return data.dtypes[line[DTYPE]];
    if (has(line, IN_FP8) && state.dtype === 'fp8') return data.dtypes[line[IN_FP8]];
    return line[PER] === 'sequence' && isNarrow(asked) ? dtypeNamed('bf16') : asked;
  }

  const bytesOf = (line, n) => {
    const dtype = dtypeOf(line);
    return fraction(n * BigInt(dtype[1]), BigInt(dtype[2]));
  };
  const sum = items => items.reduce(add, whole(0));

  function least1(scope, name) {
    const value = scope(name).n;
    if (value < 1n) throw new Error(name + ' is ' + value + ', expected 1 or more');
    return value;
  }

  /* Of a state the tokens of its first dimension, where that is a number of tokens. */
  function held({line, all, dims}, scope) {
    if (line[PER] !== 'sequence') return all * heldTokens(line, scope);
    return has(line, TOKENS) ? all / dims[0] * wholeOf(line[TOKENS], scope, 0n) : all;
  }

  function heldTokens(line, scope) {
    const seq = least1(scope, 'seq');
    if (line[PER] === 'source_token') return state.values.get('source_seq') ? least1(scope, 'source_seq') : seq;
    return has(line, TOKENS) ? wholeOf(line[TOKENS], scope, 0n) : seq;
  }

  const measures = {
    parameters: (variant, scope) => sum(lines(variant, 'tensors', scope).map(e => whole(e.all))),
    cache: (variant, scope) => sum(lines(variant, 'cache', scope).filter(e => !e.line[PER]).map(e => whole(e.all))),
    cache_bytes_per_token: (variant, scope) =>
      sum(lines(variant, 'cache', scope).filter(e => !e.line[PER]).map(e => bytesOf(e.line, e.all))),
    cache_bytes: (variant, scope) => sum(lines(variant, 'cache', scope)
      .map(e => bytesOf(e.line, held(e, scope) * least1(scope, 'batch')))),
    flops: (variant, scope) => sum(lines(variant, 'products', scope)
      .map(e => whole(2n * e.all * least1(scope, 'batch')))),
  };
  const listOf = {parameters: 'tensors', flops: 'products'};

  /* {value}, or {why}. */
  function measure(name, variant, scope) {
    if (!variant[listOf[name] || 'cache']) return {why: 'its file declares no ' + (listOf[name] || 'cache')};
    try {
      return {value: measures[name](variant, scope)};
    } catch (error) {
      return {why: error.message};
    }
  }

  /* ---- how numbers read ---- */

  const grouped = text => text.replace(/\B(?=(\d{3})+(?!\d))/g, ',');

  /* All digits: denominators are powers of 2. */
  function exact(a) {
    let text = grouped(String(a.n / a.d)), rest = a.n % a.d;
    if (rest) text += '.';
    for (let i = 0; rest && i < 40; i++) {
      rest *= 10n;
      text += rest / a.d;
      rest %= a.d;
    }
    return text;
  }
  const real = a => Number(a.n * 1024n / a.d) / 1024;

  function scaled(x, step, names, gap) {
    let i = 0;
    while (x >= step * .9999 && i + 1 < names.length) { x /= step; i++; }
    return (i ? x.toFixed(x < 10 ? 2 : x < 100 ? 1 : 0) : String(Math.round(x))) + gap + names[i];
  }
  const inBytes = x => scaled(x, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'], ' ');
  const inCounts = x => scaled(x, 1000, ['', 'k', 'M', 'B', 'T', 'Q'], '');

  /* ---- elements of the page ---- */

  function make(tag, attributes, ...children) {
    const isDrawn = ['svg', 'g', 'text', 'rect', 'line', 'path', 'title', 'circle'].includes(tag);
    const node = isDrawn ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {}))
      if (value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
    node.append(...children);
    return node;
  }

  /* 1, 2 ... 8, 10, 12, 14, 16, 20 ...: what shapes are made of. */
  function ladder(top) {
    const steps = [1, 2, 3];
    for (let unit = 1; 4 * unit <= top; unit *= 2)
      for (let k = 4; k < 8; k++) steps.push(k * unit);
    return steps.filter(step => step <= top);
  }
  function topOf(symbol) {
    const sizes = data.variants.map(v => v.sizes[symbol.name]).filter(place => place !== undefined)
      .map(place => formulas[place].source).filter(isWhole);
    const most = Math.max(1, ...[textOf(symbol.name), ...sizes].map(Number));
    let top = 64;
    while (top < 64 * most && top < 1 << 21) top *= 2;
    return top;
  }
  function nearest(steps, value) {
    let at = 0;
    while (at + 1 < steps.length && steps[at + 1] <= value) at++;
    return at;
  }

  const controls = new Map();

  function control(symbol) {
    const id = 'n-' + symbol.name, steps = ladder(topOf(symbol));
    const title = symbol.title || data.variants.map(v => v.symbols[symbol.name]).find(text => text) || symbol.name;
    const field = make('input', {type: 'number', id, min: 0, max: String(LIMIT - 1n), step: 1, inputmode: 'numeric'});
    const slider = make('input', {type: 'range', min: 0, max: steps.length - 1, step: 1, 'aria-label': title + ', slider'});
    const label = make('label', {for: id}, title + ' ', make('code', {}, symbol.name));
    const root = make('div', {class: 'control'}, label, slider, field);
    const set = text => {
      state.values.set(symbol.name, text);
      state.tied.delete(symbol.name);
      changed();
    };
    field.addEventListener('input', () => set(field.value));
    slider.addEventListener('input', () => set(String(steps[slider.value])));
    let tie = null;
    if (symbol.default !== null) {
      tie = make('input', {type: 'checkbox'});
      tie.addEventListener('change', () => {
        if (tie.checked) state.tied.add(symbol.name);
        else { state.values.set(symbol.name, defaultText(symbol) || state.values.get(symbol.name)); state.tied.delete(symbol.name); }
        changed();
      });
      root.append(make('label', {class: 'tie'}, tie, 'follows ' + formulas[symbol.default].source));
    }
    controls.set(symbol.name, {root, field, slider, tie, steps, symbol});
    return root;
  }

  /* What the variants that are ticked take where the field is empty: "1536", "1536, 1024". */
  const defaultsOf = name => [...new Set([...state.chosen].map(chosen => variants.get(chosen).sizes[name])
    .filter(place => place !== undefined).map(place => formulas[place].source))].join(', ');

  function showControl(name, isUsed) {
    const {root, field, slider, tie, steps, symbol} = controls.get(name);
    const text = textOf(name), defaults = defaultsOf(name), size = text === '' ? defaults : text;
    root.hidden = !isUsed;
    if (field !== document.activeElement || field.value !== text) field.value = text;
    field.placeholder = state.tied.has(name) ? 'not whole' : defaults || 'not given';
    field.setAttribute('aria-invalid', String(text !== '' && !isWhole(text)));
    if (isWhole(size)) slider.value = nearest(steps, Number(size));
    slider.setAttribute('aria-valuetext', size || 'not given');
    if (tie) tie.checked = state.tied.has(name);
  }

  function box(parent, name, isOn, change) {
    const input = make('input', {type: 'checkbox', value: name});
    const label = make('label', {}, input, name);
    input.checked = isOn;
    input.addEventListener('change', () => change(input.checked));
    parent.append(label);
    return input;
  }

  /* ---- figures ---- */

  const widthOf = node => Math.max(280, Math.min(1040, node.clientWidth || 1040));

  function bars(node, rows, read, title) {
    const width = widthOf(node), isNarrow = width < 560, step = isNarrow ? 44 : 26;
    const left = isNarrow ? 0 : 150, right = isNarrow ? 0 : 90;
    const known = rows.filter(row => row.value).sort((a, b) => a.x - b.x);
    const most = Math.max(...known.map(row => row.x), 0) || 1;
    const svg = make('svg', {viewBox: `0 0 ${width} ${known.length * step + 4}`, height: known.length * step + 4, role: 'img',
      'aria-label': title + ': ' + known.map(row => row.name + ' ' + read(row.x)).join(', ')});
    known.forEach((row, i) => {
      const y = i * step, length = (width - left - right) * row.x / most;
      const top = isNarrow ? y + 21 : y + 4, text = isNarrow ? y + 16 : y + 17;
      svg.append(make('rect', {class: 'rail', x: left, y: top, width: width - left - right, height: 18, rx: 2}),
        make('rect', {class: 'bar', x: left, y: top, width: Math.max(length, .5), height: 18, rx: 2},
          make('title', {}, row.name + ': ' + exact(row.value))),
        make('text', {x: isNarrow ? 0 : left - 10, y: text, 'text-anchor': isNarrow ? 'start' : 'end'}, row.name),
        make('text', {class: 'mu', x: width, y: text, 'text-anchor': 'end'}, read(row.x)));
    });
    node.replaceChildren(known.length ? svg : make('p', {class: 'note'}, 'Tick a variant that has this number.'));
  }

  /* Labels at the ends of lines, at least `gap` apart. */
  function spread(ends, gap, bottom) {
    ends.sort((a, b) => a.y - b.y);
    for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + gap);
    for (let i = ends.length, limit = bottom; i-- > 0; limit = ends[i].y - gap) ends[i].y = Math.min(ends[i].y, limit);
  }

  function round125(x) {
    const unit = 10 ** Math.floor(Math.log10(x));
    return [1, 2, 5, 10].find(k => k * unit >= x) * unit;
  }
  function roundBytes(x) {
    let unit = 1;
    while (unit * 1024 <= x) unit *= 1024;
    return Math.max(1, round125(x / unit)) * unit;
  }

  function curves(node, chosen) {
    const POINTS = 32, width = widthOf(node), height = 340, left = 78, right = width < 560 ? 96 : 150, top = 12, bottom = 40;
    const text = state.values.get('seq'), seq = isWhole(text) ? BigInt(text) : 0n;
    const last = (seq || 1n) * 2n, drawn = [];
    for (const variant of chosen) {
      if (drawn.length === MOST_LINES) break;
      const points = [];
      for (let i = 0n; i <= BigInt(POINTS); i++) {
        const at = last * i / BigInt(POINTS) || 1n, m = measure('cache_bytes', variant, scopeOf(variant, new Set(), at));
        if (m.value) points.push([Number(at), real(m.value)]);
      }
      if (points.length) drawn.push({name: variant.name, points, color: drawn.length});
    }
    if (!seq || !drawn.length) {
      node.replaceChildren(make('p', {class: 'note'}, 'There is no cache to draw.'));
      return;
    }
    const most = Math.max(...drawn.map(d => Math.max(...d.points.map(p => p[1])))) || 1;
    const xMost = Number(last), X = x => left + (width - left - right) * x / xMost;
    const Y = y => top + (height - top - bottom) * (1 - y / most);
    const svg = make('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img',
      'aria-label': 'Cache against context: ' + drawn.map(d => d.name + ' ' + inBytes(d.points[d.points.length - 1][1])).join(', ')
        + ' at ' + grouped(String(last)) + ' tokens'});
    const yStep = roundBytes(most / 5), xStep = round125(xMost / (width < 560 ? 2 : 4));
    for (let y = 0; y <= most * 1.0001; y += yStep)
      svg.append(make('line', {class: 'grid', x1: left, x2: width - right, y1: Y(y), y2: Y(y)}),
        make('text', {class: 'mu', x: left - 8, y: Y(y) + 4, 'text-anchor': 'end'}, inBytes(y)));
    for (let x = 0; x <= xMost * 1.0001; x += xStep)
      svg.append(make('text', {class: 'mu', x: X(x), y: height - bottom + 18, 'text-anchor': 'middle'}, grouped(String(Math.round(x)))));
    svg.append(make('text', {class: 'mu', x: left, y: height - 4}, 'tokens of context'),
      make('line', {class: 'now', x1: X(Number(seq)), x2: X(Number(seq)), y1: top, y2: height - bottom}));
    const ends = drawn.map(d => ({d, y: Y(d.points[d.points.length - 1][1])}));
    spread(ends, 17, height - bottom);
    for (const {d, y} of ends) {
      const end = d.points[d.points.length - 1];
      svg.append(make('path', {class: 'curve c' + d.color, d: 'M' + d.points.map(p => X(p[0]).toFixed(1) + ' ' + Y(p[1]).toFixed(1)).join('L')}),
        make('path', {class: 'curve lead-line c' + d.color, d: `M${X(end[0])} ${Y(end[1])}L${width - right + 10} ${y}`}),
        make('text', {x: width - right + 14, y: y + 4}, d.name));
    }
    node.replaceChildren(svg);
  }

  /* ---- one variant ---- */

  /* The symbols and options of all its lines. */
  function mentions(variant) {
    const found = new Set();
    const visit = node => node.symbol ? found.add(node.symbol) : (node.args || []).forEach(visit);
    for (const line of ['tensors', 'cache', 'products'].flatMap(list => variant[list] || []))
      for (const place of line[DIMS].concat(line[COUNT], line[WHEN], line[TOKENS], line[INNER]))
        if (place !== undefined && place !== null) visit(formulas[place].tree);
    return found;
  }

  const cell = (text, kind) => make('td', kind ? {class: kind} : {}, text);

  function showOne() {
    const variant = variants.get(state.which), body = document.querySelector('table[data-table=lines] tbody');
    const written = Array.from(document.querySelectorAll('#formulas tbody tr')).find(row => row.cells[0].textContent === state.which);
    const isAsDeclared = variant.options.every(([name, on]) => state.options.get(variant.name + '.' + name) === on);
    const used = new Set(), scope = scopeOf(variant, used);
    by('which').value = state.which;
    by('about').textContent = variant.title + '. ' + variant.source + '.';
    by('sum').textContent = isAsDeclared && written
      ? 'Parameters of one block: ' + written.cells[2].textContent + '; cached elements per token: ' + written.cells[3].textContent
      : 'Options were changed: the formulas below are of other lines.';
    const shown = variant.options.filter(([name]) => mentions(variant).has(name));
    by('options').hidden = !shown.length;
    by('options').replaceChildren(by('options').firstElementChild);
    shown.forEach(([name, , isFixed]) => {
      box(by('options'), name, state.options.get(variant.name + '.' + name) === 1, isOn => {
        state.options.set(variant.name + '.' + name, isOn ? 1 : 0);
        changed();
        by('options').querySelector(`[value="${name}"]`).focus();
      }).disabled = isFixed === 1;
    });
    const rows = [];
    for (const [list, what] of [['tensors', 'tensor'], ['cache', 'cached'], ['products', 'product']])
      for (const line of variant[list] || []) {
        const formula = [].concat(has(line, COUNT) ? [line[COUNT]] : [], line[DIMS]).map(place => formulas[place].source).join(' x ');
        let numbers = '-', all = '-';
        try {
          const e = elements(line, scope);
          if (!e) continue;
          const factors = [].concat(e.covered === 1n ? [] : [e.covered], has(line, COUNT) ? [e.count] : [], e.dims);
          numbers = factors.map(n => grouped(String(n))).join(' x ');
          all = grouped(String(e.all));
        } catch (error) {
          numbers = error.message;
        }
        rows.push(make('tr', {}, cell(line[PER] === 'sequence' ? what + ' once' : what, 'w'), cell(line[NAME], 'w'), cell(formula, 'w f'), cell(numbers, 'w f'), cell(all)));
      }
    body.replaceChildren(...rows);
    by('meanings').replaceChildren(...Object.entries(variant.symbols).filter(([name]) => used.has(name))
      .flatMap(([name, text]) => [make('dt', {}, make('code', {}, name)), make('dd', {}, text)]));
  }

  /* ---- all of it ---- */

  const columns = ['parameters', 'cache', 'cache_bytes_per_token', 'cache_bytes', 'flops'];

  function problemsOf(found) {
    const said = new Map();
    for (const row of found)
      for (const name of columns) {
        const why = (row[name].why || '').replace(/^.*: (symbol "\w+" is not set)$/, '$1');
        if (why) said.set(why, (said.get(why) || new Set()).add(row.variant.name));
      }
    const texts = Array.from(said, ([why, names]) => Array.from(names).join(', ') + ': ' + why);
    for (const place of data.whole) {
      const used = new Set();
      try {
        const value = evaluate(formulas[place].tree, scopeOf(null, used));
        if (value.d !== 1n && Array.from(used).every(name => !controls.get(name).root.hidden))
          texts.push(formulas[place].source + ' = ' + fractionText(value) + ' is not a whole number: heads are shared out unevenly');
      } catch (error) { /* what isn't given is told above */ }
    }
    return texts.concat(state.strange ? ['left out of the link: ' + state.strange] : []);
  }

  function render() {
    const used = new Set(['d_model', 'n_heads', 'n_layers', 'seq', 'batch']);
    const chosen = Array.from(state.chosen, name => variants.get(name));
    const found = chosen.map(variant => {
      const row = {variant}, scope = scopeOf(variant, used);
      for (const name of columns) row[name] = measure(name, variant, scope);
      return row;
    });
    if (!variants.has(state.which)) state.which = variants.keys().next().value;
    for (const name of controls.keys()) showControl(name, used.has(name) || name === 'source_seq' && used.has(name));
    by('per').value = state.per;
    by('dtype').value = state.dtype;
    by('variants').querySelectorAll('input').forEach(input => { input.checked = state.chosen.has(input.value); });
    by('problems').replaceChildren(...problemsOf(found).map(text => make('li', {}, text)));
    by('cache-says').textContent = `At batch ${grouped(state.values.get('batch') || '-')} and ${grouped(state.values.get('seq') || '-')} tokens, from least to most.`;
    const table = document.querySelector('table[data-table=numbers]');
    table.tBodies[0].replaceChildren(...found.map(row => make('tr', {}, cell(row.variant.name, 'w'),
      ...columns.map(name => cell(row[name].value ? exact(row[name].value) : '-')))));
    table.dispatchEvent(new Event('refilled'));
    const rowsOf = name => found.map(row => ({name: row.variant.name, value: row[name].value, x: row[name].value && real(row[name].value)}));
    bars(by('parameter-bars'), rowsOf('parameters'), inCounts, 'Parameters');
    bars(by('cache-bars'), rowsOf('cache_bytes'), inBytes, 'Cache');
    curves(by('lines'), chosen);
    showOne();
  }

  /* ---- the setting in the address ---- */

  function toHash() {
    const parts = ['v=' + Array.from(state.chosen, encodeURIComponent).join(',')];
    for (const [name, text] of state.values)
      if (!controls.get(name).root.hidden || text !== String(symbols.get(name).start ?? ''))
        parts.push(name + '=' + (state.tied.has(name) ? 'follows' : encodeURIComponent(text)));
    for (const v of data.variants)
      for (const [name, on] of v.options) {
        const now = state.options.get(v.name + '.' + name);
        if (now !== on) parts.push(encodeURIComponent(v.name + '.' + name) + '=' + now);
      }
    return '#' + parts.concat('per=' + state.per, 'dtype=' + state.dtype, 'one=' + encodeURIComponent(state.which)).join('&');
  }

  /* Commas stand between names, and as %2C within one. */
  function takeVariants(text) {
    const names = text.split(',').filter(word => word).map(decodeURIComponent);
    state.chosen = new Set(names.filter(name => variants.has(name)));
    return names.every(name => variants.has(name));
  }

  /* True where the name and its text make sense. */
  function take(name, text) {
    if (name === 'per') return ['model', 'module'].includes(text) && (state.per = text, true);
    if (name === 'dtype') return dtypes.some(d => d[0] === text) && (state.dtype = text, true);
    if (name === 'one') return variants.has(text) && (state.which = text, true);
    if (state.options.has(name)) return ['0', '1'].includes(text) && (state.options.set(name, Number(text)), true);
    if (!symbols.has(name)) return false;
    if (text === 'follows' && symbols.get(name).default !== null) { state.tied.add(name); return true; }
    if (text !== '' && !isWhole(text)) return false;
    state.values.set(name, text);
    state.tied.delete(name);
    return true;
  }

  function fromHash() {
    const strange = [];
    start();
    for (const part of location.hash.slice(1).split('&').filter(piece => piece)) {
      const at = part.indexOf('=');
      const name = part.slice(0, at), text = part.slice(at + 1);
      let isTaken = false;
      try {
        isTaken = at > 0 && (name === 'v' ? takeVariants(text) : take(decodeURIComponent(name), decodeURIComponent(text)));
      } catch (error) { /* a stray % */ }
      if (!isTaken) strange.push(part.slice(0, 40));
    }
    state.strange = strange.slice(0, 5).join(', ');
    render();
  }

  let isWaiting = false;
  function changed() {
    state.strange = '';
    render();
    if (isWaiting) return;
    isWaiting = true; /* browsers refuse addresses that change too often */
    setTimeout(() => {
      isWaiting = false;
      history.replaceState(null, '', toHash());
    }, 300);
  }

  /* ---- beginning ---- */

  by('live').hidden = false;
  data.variants.forEach(v => {
    box(by('variants'), v.name, false, isOn => {
      if (isOn) state.chosen.add(v.name);
      else state.chosen.delete(v.name);
      if (isOn) state.which = v.name;
      changed();
    }).parentNode.title = v.title;
    by('which').append(make('option', {value: v.name}, v.name));
  });
  dtypes.forEach(d => by('dtype').append(make('option', {value: d[0]},
    d[0] + ' (' + fractionText(fraction(BigInt(d[1]), BigInt(d[2]))) + ' B)')));
  start();
  by('controls').append(...data.symbols.map(control));
  by('all').addEventListener('click', () => { state.chosen = new Set(variants.keys()); changed(); });
  by('none').addEventListener('click', () => { state.chosen = new Set(); changed(); });
  by('per').addEventListener('change', () => { state.per = by('per').value; changed(); });
  by('dtype').addEventListener('change', () => { state.dtype = by('dtype').value; changed(); });
  by('which').addEventListener('change', () => { state.which = by('which').value; changed(); });
  by('start').addEventListener('click', () => { start(); changed(); });
  by('link').addEventListener('click', () => {
    history.replaceState(null, '', toHash());
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).catch(() => {});
    by('link').textContent = navigator.clipboard ? 'Copied' : 'It is in the address';
  });
  addEventListener('hashchange', fromHash);
  let lastWidth = 0;
  addEventListener('resize', () => {
    if (lastWidth !== document.documentElement.clientWidth) render();
    lastWidth = document.documentElement.clientWidth;
  });
  fromHash();
})();
