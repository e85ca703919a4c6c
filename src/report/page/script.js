
'use strict';
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const number = text => {
    const value = parseFloat(text.replace(/,/g, ''));
    return Number.isNaN(value) ? null : value;
  };

  /* ---- light and dark ---- */

  const theme = document.getElementById('theme');
  theme.hidden = false;
  theme.addEventListener('click', () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = isDark ? 'light' : 'dark';
  });

  /* ---- tables ---- */

  /* Numbers by size, texts by letters; what is missing comes last either way. */
  function compare(a, b, sign) {
    const x = number(a), y = number(b);
    if (a === '-' || b === '-') return a === b ? 0 : a === '-' ? 1 : -1;
    if (x !== null && y !== null) return sign * (x - y);
    return sign * a.localeCompare(b, 'en', {numeric: true});
  }

  function sort(table, column, sign) {
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows).map(row => [row.cells[column].textContent.trim(), row]);
    keyed.sort((a, b) => compare(a[0], b[0], sign));
    body.append(...keyed.map(pair => pair[1]));
  }

  /* Who fills a table again asks that it be sorted as it was. */
  all('table').forEach(table => table.addEventListener('refilled', () => {
    const heads = all('th', table), column = heads.findIndex(head => head.ariaSort);
    if (column >= 0) sort(table, column, heads[column].ariaSort === 'ascending' ? 1 : -1);
  }));

  all('table').forEach(table => all('th', table).forEach((head, column) => {
    const button = document.createElement('button');
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const isUp = head.getAttribute('aria-sort') !== 'ascending';
      all('th', table).forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
      sort(table, column, isUp ? 1 : -1);
    });
  }));

  /* ---- commands ---- */

  all('.copy').forEach(button => {
    button.hidden = false;
    button.addEventListener('click', () => {
      const text = button.previousElementSibling;
      getSelection().selectAllChildren(text);
      if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).catch(() => {});
      button.textContent = 'Copied';
    });
  });

  /* ---- heads: the squares of the map are the rows of the table, in its first order ---- */

  const map = document.getElementById('map');
  const panel = document.getElementById('head');
  const heads = map ? all('.head', map) : [];
  const rows = heads.length ? all('table[data-table=map] tbody tr') : [];
  const titles = rows.length ? all('table[data-table=map] th').map(head => head.textContent) : [];
  const lines = [];
  let chosen = -1;

  heads.forEach((head, i) => {
    const line = head.parentNode;
    if (!lines.length || lines[lines.length - 1].line !== line) lines.push({line: line, first: i, n: 0});
    lines[lines.length - 1].n++;
    const cells = Array.from(rows[i].cells).map(cell => cell.textContent.trim());
    head.setAttribute('role', 'gridcell');
    head.setAttribute('tabindex', '-1');
    head.setAttribute('aria-label', titles.map((title, k) => title + ' ' + cells[k]).join(', '));
    line.setAttribute('role', 'row');
  });

  function describe(i) {
    const list = document.createElement('dl'), title = document.createElement('h3');
    const cells = Array.from(rows[i].cells).map(cell => cell.textContent.trim());
    title.textContent = cells[0] + ', head ' + cells[1];
    for (let k = 2; k < cells.length; k++) {
      const term = document.createElement('dt'), value = document.createElement('dd');
      term.textContent = titles[k];
      value.textContent = cells[k];
      list.append(term, value);
    }
    panel.replaceChildren(title, list);
  }

  function choose(i, moves) {
    if (chosen >= 0) {
      heads[chosen].setAttribute('aria-selected', 'false');
      heads[chosen].setAttribute('tabindex', '-1');
      rows[chosen].classList.remove('chosen');
    }
    chosen = i;
    heads[i].setAttribute('aria-selected', 'true');
    heads[i].setAttribute('tabindex', '0');
    rows[i].classList.add('chosen');
    describe(i);
    if (moves) heads[i].focus();
  }

  function step(key) {
    const at = lines.findIndex(line => chosen < line.first + line.n);
    const line = lines[at], column = chosen - line.first;
    const other = lines[at + (key === 'ArrowDown' ? 1 : -1)];
    switch (key) {
    case 'ArrowLeft': return Math.max(chosen - 1, line.first);
    case 'ArrowRight': return Math.min(chosen + 1, line.first + line.n - 1);
    case 'Home': return line.first;
    case 'End': return line.first + line.n - 1;
    case 'ArrowUp':
    case 'ArrowDown': return other ? other.first + Math.min(column, other.n - 1) : chosen;
    default: return -1;
    }
  }

  if (rows.length && rows.length === heads.length) {
    panel.hidden = false;
    heads.forEach((head, i) => head.addEventListener('click', () => choose(i, true)));
    map.addEventListener('keydown', event => {
      const i = step(event.key);
      if (i < 0) return;
      event.preventDefault();
      choose(i, true);
    });
    const marked = heads.findIndex(head => head.classList.contains('marked'));
    choose(Math.max(marked, 0), false);
  }

  /* ---- print ---- */

  addEventListener('beforeprint', () => all('details').forEach(part => { part.open = true; }));
})();
