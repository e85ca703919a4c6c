// The page: asks attnledger, which is in it, and shows what it answers. The lines above are core.js's.

const data = JSON.parse(document.getElementById('data').textContent);
const get = (id) => document.getElementById(id);
const OWN = 'config.json';
const CONTEXTS = data.contexts, LEAST = CONTEXTS[0], MOST = CONTEXTS[CONTEXTS.length - 1];

// ---- the engine ----

async function compile() {
  const packed = await (await fetch('data:application/gzip;base64,' + get('engine').textContent.trim())).blob();
  return attnledger(await WebAssembly.compile(await new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()));
}

let engine;
const answers = new Map();

// Each question is asked once; those about a file anew when that changes.
async function ask(...words) {
  const key = words.join('\0');
  if (!answers.has(key))
    answers.set(key, (engine ??= compile()).then((one) => one.ask(words, { files: state.file === null ? {} : { [OWN]: state.file } })));
  return answers.get(key);
}

const valueOf = (answer, name) => answer.answer.values.find((one) => one.name === name)?.value;

// ---- what is asked ----

const state = { model: 'llama-3-8b', seq: 8192, device: 'H100', variant: '', file: null, fileName: '', own: 0 };

function readPlace() {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (data.models.some((one) => one.name === asked.get('model')))
    state.model = asked.get('model');
  const seq = Number(asked.get('seq'));
  state.seq = Number.isInteger(seq) && seq >= 1 ? Math.min(seq, MOST) : 0;
  if (data.devices.some((one) => one.name === asked.get('device')))
    state.device = asked.get('device');
  if (asked.has('variant'))
    state.variant = variantOf(asked.get('variant'))?.name ?? '';
  get('variant').value = variantOf(state.variant)?.title ?? '';
}

const variantOf = (name) => data.variants.find((one) => one.name === name);

function keepPlace() {
  const { model, seq, device, variant } = state;
  if (model !== OWN)
    history.replaceState(null, '', `${location.pathname}${location.search}#${new URLSearchParams({ model, seq, device, ...(variant && { variant }) })}`);
}

const titleOf = (model) => (model === OWN ? state.fileName : data.models.find((one) => one.name === model).title);

// ---- numbers ----

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

function bytes(value) {
  let number = Number(value), unit = 0;
  for (; number >= 1024 && unit < UNITS.length - 1; unit++)
    number /= 1024;
  return unit ? `${number.toFixed(2)} ${UNITS[unit]}` : `${number} B`;
}

const count = (value) => value.toLocaleString('en-US');
const short = (tokens) => (tokens % 1024 ? count(tokens) : tokens >= 2 ** 20 ? `${tokens / 2 ** 20}M` : `${tokens / 1024}k`);

// ---- elements ----

function make(name, attributes = {}, ...children) {
  const is = ['svg', 'path', 'line', 'rect', 'circle', 'text', 'g', 'title'].includes(name);
  const element = is ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const cell = (column, value) => (value === null || value === undefined ? '-' : column.unit === 'B' ? bytes(value)
  : typeof value === 'string' ? value : typeof value === 'boolean' ? (value ? 'yes' : 'no') : count(value));

// A table of an answer as it is, but for columns that are empty.
function show(table) {
  const rows = [...table.rows, ...table.totals], of = (row, key) => row[key] ?? null;
  const columns = table.columns.filter(({ key }) => rows.some((row) => of(row, key) !== null));
  const isNumber = ({ key }) => rows.every((row) => typeof of(row, key) !== 'string');
  const line = (row, name) => make('tr', name ? { class: name } : {}, ...columns.map((column) =>
    make('td', isNumber(column) ? { class: 'number' } : {}, cell(column, row[column.key]))));
  return make('div', { class: 'wide' },
    make('table', {}, make('thead', {}, make('tr', {}, ...columns.map((column) =>
      make('th', isNumber(column) ? { class: 'number', scope: 'col' } : { scope: 'col' },
        column.title + (column.unit && column.unit !== 'B' ? ` (${column.unit})` : ''))))),
    make('tbody', {}, ...table.rows.map((row) => line(row)), ...table.totals.map((row) => line(row, 'total')))));
}

const notes = (list) => list.map((text) => make('p', { class: 'note' }, text));

// ---- the chart ----

function draw(own) {
  const svg = get('chart'), narrow = innerWidth < 720;
  const width = narrow ? 380 : 1040, height = narrow ? 300 : 400, left = 58, right = narrow ? 8 : 120, top = 8, bottom = 26;
  const sizes = [...data.models.flatMap((one) => one.curve ?? []), ...own.map(([, size]) => size)].map(Number).filter((size) => size > 0);
  const low = 2 * Math.floor(Math.log2(Math.min(2 ** 20, ...sizes)) / 2); // exponents of the bytes that are shown
  const high = 2 * Math.ceil(Math.log2(Math.max(2 ** 42, ...sizes)) / 2);
  const x = (tokens) => left + (Math.log2(tokens) - Math.log2(LEAST)) / Math.log2(MOST / LEAST) * (width - left - right);
  const y = (size) => top + (high - Math.max(low, Math.log2(Number(size) || 1))) / (high - low) * (height - top - bottom);
  const path = (points) => points.map(([tokens, size], i) => `${i ? 'L' : 'M'}${x(tokens).toFixed(1)},${y(size).toFixed(1)}`).join('');
  const parts = [];

  for (let k = low; k <= high; k += narrow ? 4 : 2)
    parts.push(make('line', { class: 'grid', x1: left, x2: width - right, y1: y(2 ** k), y2: y(2 ** k) }),
      make('text', { x: left - 6, y: y(2 ** k) + 4, 'text-anchor': 'end' }, bytes(2 ** k).replace('.00', '')));
  for (const tokens of CONTEXTS.filter((one, i) => !narrow || i % 2 === 0))
    parts.push(make('text', { x: x(tokens), y: height - 8, 'text-anchor': 'middle' }, short(tokens)));
  for (const model of data.models.filter((one) => one.curve && one.name !== state.model))
    parts.push(make('path', { class: 'model', d: path(CONTEXTS.map((tokens, i) => [tokens, model.curve[i]])) },
      make('title', {}, model.title)));
  const shown = data.devices.filter((one) => one.name === state.device || (!narrow && ['L4', 'B300'].includes(one.name)));
  for (const device of shown)
    parts.push(make('line', { class: device.name === state.device ? 'device chosen' : 'device', x1: left, x2: width - right,
      y1: y(device.usable), y2: y(device.usable) }),
    make('text', narrow ? { x: width - right, y: y(device.usable) - 4, 'text-anchor': 'end' }
      : { x: width - right + 6, y: y(device.usable) + 4 }, device.name));
  parts.push(make('path', { class: 'own', d: path(own) }),
    make('circle', { class: 'point', r: 6, cx: x(Math.max(LEAST, state.seq)), cy: y(state.bytes) }));
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.replaceChildren(...parts);
}

// The curve of a file is asked for; those of built-in models are here.
async function curveOf(model) {
  const known = data.models.find((one) => one.name === model)?.curve;
  if (known)
    return CONTEXTS.map((tokens, i) => [tokens, known[i]]);
  return Promise.all(CONTEXTS.map(async (tokens) => [tokens, valueOf(await ask('cache', model, '--seq', `${tokens}`), 'bytes') ?? 0]));
}

// ---- what if it had ----

const bars = (queries, keys, height) => make('svg', { viewBox: '0 0 130 34', 'aria-hidden': 'true' },
  ...Array.from({ length: queries }, (none, i) => make('rect', { class: 'q', x: 2 + i * 16, y: 2, width: 12, height: 12 })),
  ...keys.map(([from, width]) => make('rect', { class: 'k', x: 2 + from * 16, y: 32 - height, width: width * 16 - 4, height })));
const each = (n, step) => Array.from({ length: n / step }, (none, i) => [i * step, step]);
const WINDOW = 1024;

const IDEAS = [
  ['mha', 'MHA', 'A key and a value for each query head.', bars(8, each(8, 1), 14)],
  ['gqa', 'GQA', 'Groups of query heads share a key and a value.', bars(8, each(8, 4), 14)],
  ['mqa', 'MQA', 'All query heads share one key and one value.', bars(8, [[0, 8]], 14)],
  ['mla', 'MLA', 'One latent vector, from which each head makes its key and value.', bars(8, [[0, 8]], 6)],
  [`gqa:sliding=4/5,window=${WINDOW}`, 'A window in 4 of 5 layers', `Four of five layers keep the last ${count(WINDOW)} tokens.`,
    bars(8, [[0, 1], [1, 1], [2, 1], [3, 1], [4, 4]], 10)],
  ['linear-attention', 'Linear attention', 'A state of one size in place of keys and values.', bars(8, [[3, 2]], 14)],
];

const bytesOf = async (variant) => valueOf(await ask('cache', state.model, '--variant', variant, '--seq', `${state.seq}`), 'bytes');

async function cardOf([variant, name, text, drawing]) {
  const size = await bytesOf(variant).catch((error) => error);
  const share = Number(size) / Number(state.bytes);
  const said = size instanceof Error ? size.message : state.bytes ? `${share >= 10 ? share.toFixed(0) : share.toPrecision(2)} times as much. ${text}` : text;
  return make('div', { class: 'card' }, name, ...(drawing ? [drawing.cloneNode(true)] : []),
    make('b', { 'data-variant': variant }, size instanceof Error ? '-' : bytes(size)), make('p', {}, said));
}

// The last card is of the variant that was chosen, with its formulas.
async function showIdeas(asked) {
  const found = variantOf(state.variant);
  const chosen = found ? [[found.name, found.title, `${(await ask('variants', found.name)).answer.text} ${found.source}.`]] : [];
  const cards = await Promise.all([...IDEAS, ...chosen].map(cardOf));
  if (asked === turn && found === variantOf(state.variant))
    get('what-if').querySelector('.cards').replaceChildren(...cards);
}

// ---- the search for a variant: a combobox with a list, by the practices of WAI-ARIA ----

const search = { found: [], at: -1 };
const variantsByIdea = [...data.variants].sort((a, b) => a.idea.localeCompare(b.idea));

// Those that have each word in their name, title, paper or idea.
function findVariants(text) {
  const words = text.toLowerCase().split(/\s+/);
  return variantsByIdea.filter((one) => words.every((word) => `${one.name}\n${one.title}\n${one.source}\n${one.idea}`.toLowerCase().includes(word)));
}

function showFound(found, at = -1) {
  const ideas = [...new Set(found.map(({ idea }) => idea))];
  const option = (one) => make('div', { id: `variant-${one.name}`, role: 'option' }, `${one.title} `, make('small', {}, `${one.name} \u00b7 ${one.source}`));
  get('variants').replaceChildren(...ideas.map((idea, i) => make('div', { role: 'group', 'aria-labelledby': `idea-${i}` },
    make('div', { id: `idea-${i}`, class: 'idea' }, idea), ...found.filter((one) => one.idea === idea).map(option))));
  get('variants').hidden = !found.length;
  get('variant').setAttribute('aria-expanded', `${found.length > 0}`);
  get('matches').textContent = found.length ? `${found.length} of ${data.variants.length} variants` : 'No variant has these words in its name, title, paper or idea.';
  search.found = found;
  mark(at);
}

// The option that Enter would choose.
function mark(at) {
  search.at = at;
  const options = get('variants').querySelectorAll('[role=option]');
  options.forEach((option, i) => option.setAttribute('aria-selected', `${i === at}`));
  get('variant').removeAttribute('aria-activedescendant');
  if (options[at]) {
    get('variant').setAttribute('aria-activedescendant', options[at].id);
    options[at].scrollIntoView({ block: 'nearest' });
  }
}

function hideFound() {
  showFound([]);
  get('matches').textContent = '';
  get('variant').value = variantOf(state.variant)?.title ?? '';
}

function chooseVariant(name) {
  state.variant = name;
  hideFound();
  keepPlace();
  showIdeas(turn);
}

const KEYS = {
  ArrowDown: () => (search.found.length ? mark((search.at + 1) % search.found.length) : showFound(variantsByIdea, 0)),
  ArrowUp: () => (search.found.length ? mark((Math.max(search.at, 0) || search.found.length) - 1) : showFound(variantsByIdea, variantsByIdea.length - 1)),
  Enter: () => (search.found[search.at] || !get('variant').value) && chooseVariant(search.found[search.at]?.name ?? ''),
  // closes the list, then leaves no variant chosen
  Escape: () => (search.found.length || get('matches').textContent ? hideFound() : chooseVariant('')),
};

function beginSearch() {
  const field = get('variant');
  field.oninput = () => {
    const text = field.value.trim().toLowerCase(), found = findVariants(text);
    showFound(found, text ? Math.max(found.findIndex(({ name }) => name === text), Math.min(0, found.length - 1)) : -1);
  };
  field.onclick = () => {
    if (!search.found.length)
      showFound(variantsByIdea, variantsByIdea.findIndex(({ name }) => name === state.variant));
  };
  field.onfocus = () => field.select();
  field.onblur = () => (field.value || !state.variant ? hideFound() : chooseVariant(''));
  field.onkeydown = (event) => {
    if (!(event.key in KEYS) || event.isComposing)
      return;
    event.preventDefault();
    KEYS[event.key]();
  };
  get('variants').onmousedown = (event) => event.preventDefault(); // the field keeps the focus
  get('variants').onclick = (event) => {
    const option = event.target.closest('[role=option]');
    if (option)
      chooseVariant(option.id.slice('variant-'.length));
  };
}

// ---- memory, devices, sources ----

async function showAnswer(place, title, ...words) {
  const parts = await ask(...words).then(({ answer, tables }) => [make('p', {}, answer.text), show(tables[0]), ...notes(answer.assumptions)],
    (error) => notes([error.message]));
  place.replaceChildren(...(title ? [make('h3', {}, title)] : []), ...parts);
}

// Behind an answer's numbers: the tables after the first, with formulas, substitutions and sources. Asked for when opened.
function explain(title, ...words) {
  const place = make('details', {}, make('summary', {}, title));
  place.ontoggle = async () => {
    place.ontoggle = null;
    place.append(...await ask(...words).then(({ tables }) => tables.slice(1).flatMap((table) => [show(table), ...notes(table.notes)]),
      (error) => notes([error.message])));
  };
  return place;
}

// Those that were open stay open.
function showSources(parts) {
  const before = [...get('explained').querySelectorAll('details')];
  parts.forEach((part, i) => {
    part.open = before[i]?.open ?? i === 0;
  });
  get('explained').replaceChildren(get('explained').firstChild, ...parts);
}

async function showMore(asked) {
  const seq = ['--seq', `${state.seq}`], [serving, training] = get('memory').querySelectorAll('.two > div');
  const steps = [
    () => showIdeas(asked),
    async () => {
      get('count').textContent = (await ask('count', state.model)).answer.text;
    },
    () => showAnswer(serving, 'Serving, with vLLM', 'memory', state.model, ...seq, '--engine', 'vllm'),
    () => showAnswer(training, 'Training', 'memory', state.model, '--train', ...seq),
    () => showAnswer(get('devices').querySelector('div'), '', 'fit', state.model, ...seq, '--engine', 'vllm'),
    async () => showSources([
      explain('Cache', 'cache', state.model, ...seq, '--explain'),
      explain('Parameters', 'count', state.model, '--explain'),
      explain('Serving with vLLM: memory, bytes read and operations for a new token', 'memory', state.model, ...seq, '--engine', 'vllm', '--explain'),
      explain('Training', 'memory', state.model, '--train', ...seq, '--explain'),
    ]),
  ];
  for (const step of steps) {
    await new Promise((then) => setTimeout(then));
    if (asked !== turn)
      return;
    await step().catch(() => {});
  }
}

// ---- all models ----

const COLUMNS = [
  ['title', 'Model'], ['attention', 'Attention'], ['heads', 'Heads'], ['kv_heads', 'Key/value heads'], ['per_token', 'Cache per token', 'B'],
  ['at_128k', 'Cache at 128k', 'B'], ['context', 'Context'], ['year', 'Year'],
];
let order = { key: 'title', down: false };

function showModels() {
  const table = get('all').querySelector('table'), sign = order.down ? -1 : 1;
  const rows = [...data.models].sort((a, b) => {
    const [x, y] = [a[order.key], b[order.key]];
    return x === y ? 0 : x === null ? 1 : y === null ? -1 : sign * (x < y ? -1 : 1);
  });
  const head = COLUMNS.map(([key, title]) => {
    const button = make('button', { type: 'button' }, title);
    button.onclick = () => {
      order = { key, down: order.key === key && !order.down };
      showModels();
    };
    const sort = order.key !== key ? 'none' : order.down ? 'descending' : 'ascending';
    return make('th', { scope: 'col', 'aria-sort': sort, ...(key === 'title' || key === 'attention' ? {} : { class: 'number' }) }, button);
  });
  table.replaceChildren(make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows.map((row) => make('tr', {}, ...COLUMNS.map(
    ([key, , unit = '']) => (key === 'title' ? make('td', {}, make('a', { href: `#model=${encodeURIComponent(row.name)}&seq=${row.context ?? 8192}` }, row.title))
      : make('td', key === 'attention' ? {} : { class: 'number' }, key === 'year' ? `${row.year}` : cell({ unit }, row[key]))))))));
}

function makeCsv() {
  const quote = (value) => (value === null ? '' : /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  const keys = ['name', ...COLUMNS.map(([key]) => key)];
  const text = [keys, ...data.models.map((row) => keys.map((key) => quote(row[key])))].map((line) => line.join(',')).join('\n') + '\n';
  get('csv').href = 'data:text/csv;charset=utf-8,' + encodeURIComponent(text);
}

// ---- all of it ----

let turn = 0;

async function answer() {
  const asked = ++turn;
  try {
    const own = await ask('cache', state.model);
    state.own = valueOf(own, 'context') ?? 0;
    state.seq ||= state.own || 8192;
    const found = await ask('cache', state.model, '--seq', `${state.seq}`);
    if (asked !== turn)
      return;
    state.bytes = valueOf(found, 'bytes') ?? 0;
    get('said').textContent = found.answer.text;
    performance.mark('first number');
    get('wrong').hidden = true;
  } catch (error) {
    if (asked === turn) {
      refuse(error.message);
      document.body.dataset.done = `${asked}`;
    }
    return;
  }
  get('model').value = state.model === OWN ? state.fileName : state.model;
  get('length').textContent = count(state.seq);
  get('seq').value = Math.log2(state.seq);
  get('seq').setAttribute('aria-valuetext', `${count(state.seq)} tokens`);
  get('own').replaceChildren(...(state.own ? [make('option', { value: Math.log2(state.own), label: 'own' })] : []));
  get('device').value = state.device;
  document.title = `${titleOf(state.model)}: KV cache at ${short(state.seq)}`;
  keepPlace();
  draw(await curveOf(state.model));
  get('fits').textContent = await ask('fit', state.model, '--device', state.device, '--seq', `${state.seq}`, '--engine', 'vllm')
    .then((fit) => fit.answer.text.split('. The log of')[0].replace(/\.?$/, '.'), (error) => error.message);
  if (asked === turn && !document.body.classList.contains('embed'))
    await showMore(asked);
  if (asked === turn)
    document.body.dataset.done = `${asked}`;
}

function refuse(text) {
  get('wrong').textContent = text;
  get('wrong').hidden = false;
}

function putFile(one) {
  Object.assign(state, one);
  for (const key of [...answers.keys()])
    if (key.split('\0').includes(OWN))
      answers.delete(key);
}

// What was shown stays where a file can't be read.
async function takeFile(file) {
  if (!file)
    return;
  if (!/\.json$/i.test(file.name)) {
    refuse(`${file.name} is not a .json file: give the model's config.json.`);
    return;
  }
  const { file: before, fileName, model, seq } = state;
  putFile({ file: await file.text(), fileName: file.name, model: OWN, seq: 0 });
  const asked = turn + 1;
  await answer();
  if (asked === turn && !get('wrong').hidden)
    putFile({ file: before, fileName, model, seq });
}

function takeModel(text) {
  const found = data.models.find((one) => [one.name, one.title].some((name) => name.toLowerCase() === text.trim().toLowerCase()));
  if (found) {
    Object.assign(state, { model: found.name, seq: 0 });
    answer();
  } else {
    get('model').value = state.model === OWN ? state.fileName : state.model;
    if (text.trim() && text !== state.fileName)
      refuse(`No built-in model is called "${text}": choose one of the list, or give its config.json.`);
  }
}

function begin() {
  get('models').append(...data.models.map((one) => make('option', { value: one.name, label: one.title })));
  get('device').append(...data.devices.map((one) => make('option', { value: one.name }, `${one.name}, ${bytes(one.memory).replace('.00', '')}`)));
  get('version').textContent = data.version;
  document.body.classList.toggle('embed', new URLSearchParams(location.search).has('embed'));
  get('question').onsubmit = (event) => event.preventDefault();
  get('model').onchange = () => takeModel(get('model').value);
  get('model').onfocus = () => get('model').select();
  // the handle stops at the model's own context, at powers of two and at seven steps between
  get('seq').oninput = () => {
    const at = Number(get('seq').value);
    state.seq = state.own && Math.abs(at - Math.log2(state.own)) < .07 ? state.own : Math.round(2 ** at / 128) * 128;
    answer();
  };
  get('device').onchange = () => {
    state.device = get('device').value;
    answer();
  };
  beginSearch();
  get('file').onchange = () => takeFile(get('file').files[0]);
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => {
    event.preventDefault();
    takeFile(event.dataTransfer.files[0]);
  });
  addEventListener('hashchange', () => {
    readPlace();
    scrollTo(0, 0);
    answer();
  });
  addEventListener('resize', async () => draw(await curveOf(state.model)));
  readPlace();
  showModels();
  makeCsv();
  answer();
}

begin();
