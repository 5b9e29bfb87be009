'use strict';
(() => {
  const all = (selector, within) => [...(within || document).querySelectorAll(selector)];
  const one = id => document.getElementById(id);
  const tools = one('tools');
  const root = document.documentElement;
  // A report of hundreds of plots is easier to read when it opens folded; a print has everything.
  const MANY = 60;

  const folds = all('.plots > details');
  const fold = one('fold');
  const sayFold = () => { fold.textContent = folds.some(d => d.open) ? 'Collapse plots' : 'Expand plots'; };
  const foldAll = open => { folds.forEach(d => { d.open = open; }); sayFold(); };
  fold.addEventListener('click', () => foldAll(!folds.some(d => d.open)));
  folds.forEach(d => d.addEventListener('toggle', sayFold));
  fold.hidden = !folds.length;
  if (all('.plots > details figure').length > MANY) foldAll(false); else sayFold();
  let before = [];
  addEventListener('beforeprint', () => { before = all('details').filter(d => !d.open); before.forEach(d => { d.open = true; }); });
  addEventListener('afterprint', () => before.forEach(d => { d.open = false; }));

  const rows = new Map(all('article[data-row]').map(a => [a.dataset.row, a.dataset.name.toLowerCase()]));
  const filter = one('filter');
  filter.addEventListener('input', () => {
    const wanted = filter.value.trim().toLowerCase();
    const shown = new Map([...rows].map(([row, name]) => [row, name.includes(wanted)]));
    all('[data-row]').forEach(e => e.classList.toggle('off', !shown.get(e.dataset.row)));
    one('none').hidden = [...shown.values()].some(Boolean);
  });

  all('input[name="arm"]').forEach(box => box.addEventListener('change', () => {
    all(`[data-arm="${box.value}"]`).forEach(e => e.classList.toggle('gone', !box.checked));
  }));

  const metric = value => {
    all('figure[data-metric]').forEach(e => { e.hidden = e.dataset.metric !== value; });
    all('td[data-metric], th[data-metric]').forEach(e => e.classList.toggle('on', e.dataset.metric === value));
  };
  all('input[name="metric"]').forEach(radio => {
    radio.addEventListener('change', () => metric(radio.value));
    if (radio.checked) metric(radio.value);
  });

  const themes = ['auto', 'light', 'dark'];
  one('theme').addEventListener('click', event => {
    const next = themes[(themes.indexOf(root.dataset.theme || 'auto') + 1) % themes.length];
    if (next === 'auto') delete root.dataset.theme; else root.dataset.theme = next;
    event.target.textContent = `Theme: ${next}`;
  });

  const cell = td => [...td.childNodes].map(n => n.textContent.trim()).filter(Boolean).join(' ').replace(/\s+/g, ' ').replace(/\|/g, '\\|');
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
  all('.copy').forEach(button => {
    button.hidden = false;
    const words = button.textContent;
    button.addEventListener('click', () => {
      button.textContent = copy(markdown(one(button.value))) ? 'Copied' : 'This browser does not permit it';
      setTimeout(() => { button.textContent = words; }, 1500);
    });
  });

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

  tools.hidden = false;
})();
