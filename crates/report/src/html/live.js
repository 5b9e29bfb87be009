'use strict';
(() => {
  const parts = document.getElementById('parts');
  const state = document.getElementById('state');
  const say = (text, kind) => { state.textContent = text; state.className = kind; };
  const time = () => new Date().toLocaleTimeString();
  const details = within => [...within.querySelectorAll('details')];
  let shown = time();
  let is_over = false;

  const exchange = (id, html) => {
    const old = document.getElementById(id);
    if (!old) return;
    const open = details(old).map(d => d.open);
    old.outerHTML = html;
    const fresh = document.getElementById(id);
    const now = fresh ? details(fresh) : [];
    if (now.length === open.length) now.forEach((d, index) => { d.open = open[index]; });
  };
  const whole = html => {
    const open = new Map([...parts.children].map(part => [part.id, details(part).map(d => d.open)]));
    parts.innerHTML = html;
    [...parts.children].forEach(part => {
      const known = open.get(part.id);
      const now = details(part);
      if (known && known.length === now.length) now.forEach((d, index) => { d.open = known[index]; });
    });
  };
  const exchanged = () => {
    shown = time();
    document.dispatchEvent(new Event('fathom:exchanged'));
  };

  const source = new EventSource('/events');
  source.addEventListener('open', () => say('Live', 'live'));
  source.addEventListener('whole', event => {
    const { title, html } = JSON.parse(event.data);
    document.title = title;
    whole(html);
    exchanged();
  });
  source.addEventListener('part', event => {
    const { id, html } = JSON.parse(event.data);
    exchange(id, html);
    exchanged();
  });
  source.addEventListener('end', event => {
    is_over = true;
    source.close();
    say(event.data, 'over');
  });
  source.addEventListener('error', () => {
    if (!is_over) say(`Connection lost: this is what was shown at ${shown}. Trying again.`, 'lost');
  });
})();
