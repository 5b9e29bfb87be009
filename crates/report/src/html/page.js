'use strict';
(() => {
  const all = (selector, within) => [...(within || document).querySelectorAll(selector)];
  const one = id => document.getElementById(id);
  const root = document.documentElement;
  // A report of hundreds of plots is easier to read when it opens folded; a print has everything.
  const MANY = 60;
  // What the reader chose: parts of a page that is still written are exchanged under it.
  const chosen = { filter: '', without: new Set(), metric: null, folded: null };
  const listen = (type, of, then, capture) => document.addEventListener(type, event => {
    const found = event.target.closest && event.target.closest(of);
    if (found) then(found, event);
  }, capture);

  const folds = () => all('.plots > details');
  const sayFold = () => {
    const fold = one('fold');
    if (!fold) return;
    fold.textContent = folds().some(d => d.open) ? 'Collapse plots' : 'Expand plots';
    fold.hidden = !folds().length;
  };
  const foldAll = open => { folds().forEach(d => { d.open = open; }); sayFold(); };
  listen('click', '#fold', () => { chosen.folded = folds().some(d => d.open); foldAll(!chosen.folded); });
  listen('toggle', '.plots > details', sayFold, true);
  let before = [];
  addEventListener('beforeprint', () => { before = all('details').filter(d => !d.open); before.forEach(d => { d.open = true; }); });
  addEventListener('afterprint', () => before.forEach(d => { d.open = false; }));

  const filter = () => {
    const rows = all('article[data-row]').map(a => [a.dataset.row, a.dataset.name.toLowerCase().includes(chosen.filter)]);
    const shown = new Map(rows);
    all('[data-row]').forEach(e => e.classList.toggle('off', shown.get(e.dataset.row) === false));
    if (one('none')) one('none').hidden = !rows.length || rows.some(([, is]) => is);
  };
  listen('input', '#filter', input => { chosen.filter = input.value.trim().toLowerCase(); filter(); });
  listen('submit', '#tools', (form, event) => event.preventDefault());

  const arm = box => all(`[data-arm="${box.value}"]`).forEach(e => e.classList.toggle('gone', !box.checked));
  listen('change', 'input[name="arm"]', box => {
    if (box.checked) chosen.without.delete(box.value); else chosen.without.add(box.value);
    arm(box);
  });

  const metric = value => {
    all('figure[data-metric]').forEach(e => { e.hidden = e.dataset.metric !== value; });
    all('td[data-metric], th[data-metric]').forEach(e => e.classList.toggle('on', e.dataset.metric === value));
  };
  listen('change', 'input[name="metric"]', radio => { chosen.metric = radio.value; metric(radio.value); });

  // The rows of a table by a column: the order of the page, then descending, then ascending.
  const orders = ['none', 'descending', 'ascending'];
  const value = (tr, column) => {
    const td = tr.cells[column];
    return td.dataset.value === undefined ? td.textContent.trim().toLowerCase() : Number(td.dataset.value);
  };
  const sort = th => {
    const next = orders[(orders.indexOf(th.getAttribute('aria-sort')) + 1) % orders.length];
    const body = th.closest('table').tBodies[0];
    const rows = [...body.rows];
    rows.forEach((tr, place) => { if (!tr.dataset.place) tr.dataset.place = place; });
    const way = next === 'ascending' ? 1 : -1;
    const column = th.cellIndex;
    const compare = (a, b) => {
      const [x, y] = [value(a, column), value(b, column)];
      if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1;
      return way * (typeof x === 'number' ? x - y : x.localeCompare(y));
    };
    rows.sort((a, b) => (next === 'none' ? 0 : compare(a, b)) || a.dataset.place - b.dataset.place);
    body.append(...rows);
    all('th[aria-sort]', th.parentNode).forEach(other => other.setAttribute('aria-sort', 'none'));
    th.setAttribute('aria-sort', next);
  };
  listen('click', 'th[aria-sort]', sort);
  listen('keydown', 'th[aria-sort]', (th, event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); sort(th); } });

  const themes = ['auto', 'light', 'dark'];
  const sayTheme = () => { if (one('theme')) one('theme').textContent = `Theme: ${root.dataset.theme || 'auto'}`; };
  listen('click', '#theme', () => {
    const next = themes[(themes.indexOf(root.dataset.theme || 'auto') + 1) % themes.length];
    if (next === 'auto') delete root.dataset.theme; else root.dataset.theme = next;
    sayTheme();
  });

  const cell = td => [...td.childNodes].filter(n => n.nodeName !== 'SUP').map(n => n.textContent.trim()).filter(Boolean).join(' ').replace(/\s+/g, ' ').replace(/\|/g, '\\|');
  const markdown = table => {
    const lines = all('tr:not(.gone)', table).map(tr => [...tr.cells].filter(td => !td.matches('.gone')).map(cell));
    const rule = lines[0].map(() => '---');
    return [lines[0], rule, ...lines.slice(1)].map(line => `| ${line.join(' | ')} |`).join('\n');
  };
  const copy = text => {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  };
  listen('click', '.copy', button => {
    const words = button.textContent;
    button.textContent = copy(markdown(one(button.value))) ? 'Copied' : 'This browser does not permit it';
    setTimeout(() => { button.textContent = words; }, 1500);
  });

  const apply = () => {
    const tools = one('tools');
    if (tools) {
      tools.hidden = false;
      one('filter').value = chosen.filter;
    }
    all('.copy').forEach(button => { button.hidden = false; });
    all('main table[id] thead th').forEach(th => {
      if (th.closest('table').tBodies[0].rows.length < 3 || th.hasAttribute('aria-sort')) return;
      th.setAttribute('aria-sort', 'none');
      th.tabIndex = 0;
    });
    filter();
    all('input[name="arm"]').forEach(box => { box.checked = !chosen.without.has(box.value); arm(box); });
    const radios = all('input[name="metric"]');
    radios.forEach(radio => { if (radio.value === chosen.metric) radio.checked = true; });
    const picked = radios.find(radio => radio.checked);
    if (picked) metric(picked.value);
    if (chosen.folded === null && all('.plots > details figure').length > MANY) chosen.folded = true;
    if (chosen.folded) foldAll(false); else sayFold();
    sayTheme();
  };

  const tip = one('tip');
  const titles = new WeakMap();
  const lines = new WeakMap();
  const cursor = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  cursor.setAttribute('class', 'cursor');
  // The browser's own tooltip comes late and would come twice.
  const adopt = plot => all('title', plot).forEach(t => { titles.set(t.parentNode, t.textContent); t.remove(); });
  const titled = (node, plot) => {
    for (let e = node; e && e !== plot; e = e.parentNode) if (titles.has(e)) return titles.get(e);
    return '';
  };
  const points = line => {
    if (!lines.has(line)) {
      lines.set(line, {
        at: line.getAttribute('d').slice(1).split('L').map(p => p.split(' ').map(Number)),
        x: line.closest('[data-x]').dataset.x.split('|'),
        v: line.dataset.v.split('|'),
      });
    }
    return lines.get(line);
  };
  const nearest = (plot, x) => {
    let best = null;
    const found = [];
    all('.arm:not(.gone) > [data-v]', plot).forEach(line => {
      const p = points(line);
      let i = 0;
      p.at.forEach((at, j) => { if (Math.abs(at[0] - x) < Math.abs(p.at[i][0] - x)) i = j; });
      const far = Math.abs(p.at[i][0] - x);
      if (!best || far < best.far) best = { far, x: p.at[i][0], text: p.x[i] };
      found.push([p.at[i][0], `${titled(line, plot).split(': ')[0]}: ${p.v[i]}`]);
    });
    if (!best || best.far > 30) return null;
    const here = found.filter(([at]) => Math.abs(at - best.x) < 6).map(([, text]) => text);
    return { x: best.x, text: [best.text, ...here].join('\n') };
  };
  const hide = () => { tip.hidden = true; cursor.remove(); };
  const show = event => {
    const plot = event.target.closest && event.target.closest('svg.plot');
    if (!plot) return hide();
    adopt(plot);
    const inside = new DOMPoint(event.clientX, event.clientY).matrixTransform(plot.getScreenCTM().inverse());
    const own = event.target.closest('.dot, .stall, .note');
    const near = own && titled(own, plot) ? null : nearest(plot, inside.x);
    const text = near ? near.text : titled(event.target, plot);
    if (!text) return hide();
    if (near) {
      const box = plot.viewBox.baseVal;
      cursor.setAttribute('d', `M${near.x} 24V${box.height - 38}`);
      plot.append(cursor);
    } else cursor.remove();
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
    tip.style.top = `${event.clientY + 16 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 16}px`;
    return undefined;
  };
  document.addEventListener('pointermove', show);
  document.addEventListener('pointerdown', show);
  document.addEventListener('scroll', hide, true);

  document.addEventListener('fathom:exchanged', apply);
  apply();
})();
