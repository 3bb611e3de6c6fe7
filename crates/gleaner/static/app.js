// What makes pages live: countdowns, tips, and parts that renew themselves. Everything works without it, only slower.
(() => {
  'use strict';
  const body = document.body;
  // The server's clock, which may run faster than ours.
  let base = Number(body.dataset.now), begun = performance.now();
  const speed = Number(body.dataset.speed) || 1;
  const now = () => base + (performance.now() - begun) * speed;

  const brief = ms => {
    const s = Math.floor(ms / 1000);
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 172800) return `${Math.floor(s / 3600)} h`;
    return `${Math.floor(s / 86400)} days`;
  };
  const relative = t => {
    const gap = t - now();
    if (Math.abs(gap) < 1000) return 'now';
    return gap > 0 ? `in ${brief(gap)}` : `${brief(-gap)} ago`;
  };
  const moment = t => {
    const date = new Date(t), today = new Date(now());
    const clock = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    if (date.toDateString() === today.toDateString()) return clock;
    if (Math.abs(t - now()) < 6 * 864e5) return `${date.toLocaleDateString('en', { weekday: 'long' })} ${clock}`;
    return `${date.toLocaleDateString()} ${clock}`;
  };
  const say = () => {
    for (const el of document.querySelectorAll('time.rel')) {
      const text = relative(Number(el.dataset.t));
      if (el.textContent !== text) el.textContent = text;
      if (!el.title) el.title = new Date(Number(el.dataset.t)).toLocaleString();
    }
    for (const el of document.querySelectorAll('time.abs:not([title])')) {
      el.textContent = moment(Number(el.dataset.t));
      el.title = new Date(Number(el.dataset.t)).toLocaleString();
    }
  };
  say();
  setInterval(say, 1000);
  document.addEventListener('htmx:afterSettle', say);

  // Tips of pictures, for the pointer and for the keyboard.
  const tip = document.getElementById('tip');
  const show = el => {
    const at = el.dataset.at ? `${moment(Number(el.dataset.at))}\n` : '';
    tip.textContent = at + el.dataset.tip;
    tip.hidden = false;
    const place = el.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, place.left + place.width / 2 - own.width / 2), innerWidth - own.width - 8);
    const above = place.top - own.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 8 ? above : place.bottom + 8}px`;
  };
  const hide = () => { tip.hidden = true; };
  const tipped = event => event.target.closest && event.target.closest('[data-tip]');
  document.addEventListener('pointerover', event => { const el = tipped(event); if (el) show(el); else hide(); });
  document.addEventListener('focusin', event => { const el = tipped(event); if (el) show(el); });
  document.addEventListener('focusout', hide);
  document.addEventListener('keydown', event => {
    if (event.key === 'Escape') hide();
    // Marks of a picture are one stop; arrows go from mark to mark.
    const mark = event.target.closest && event.target.closest('[data-marks] [data-tip]');
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!mark || !step) return;
    event.preventDefault();
    const marks = [...mark.closest('[data-marks]').querySelectorAll('[data-tip]')];
    const place = Math.min(Math.max(marks.indexOf(mark) + step, 0), marks.length - 1);
    mark.setAttribute('tabindex', '-1');
    marks[place].setAttribute('tabindex', '0');
    marks[place].focus();
  });

  // The part of a page that renews itself, unless somebody is busy with it.
  let waiting = false;
  const busy = el => document.hidden || el.matches(':focus-within') || el.querySelector('input:checked, details.confirm[open]');
  const renew = () => {
    const el = document.querySelector('[data-live]');
    if (!el) return;
    if (busy(el)) { waiting = true; return; }
    waiting = false;
    const open = [...el.querySelectorAll('details')].map(one => one.open);
    htmx.ajax('GET', location.pathname + location.search, { target: el, select: `#${el.id}`, swap: 'outerHTML' }).then(() => {
      const fresh = document.querySelector('[data-live]');
      if (fresh) [...fresh.querySelectorAll('details')].forEach((one, i) => { one.open = Boolean(open[i]); });
      hide();
      say();
    });
  };
  setInterval(() => { if (waiting) renew(); }, 2000);

  // The connection: says when it is lost, and renews what was missed when it is back.
  const light = document.getElementById('connection');
  let lost = false, silence;
  const state = (name, text) => { light.className = `connection ${name}`; light.textContent = text; };
  const heard = event => {
    base = JSON.parse(event.data).now;
    begun = performance.now();
    clearTimeout(silence);
    silence = setTimeout(gone, 30000);
    if (lost) { lost = false; renew(); }
    state('live', 'live');
  };
  const gone = () => { lost = true; state('lost', 'connection lost; trying again'); };
  let source;
  const connect = () => {
    source = new EventSource('/live');
    source.addEventListener('hello', heard);
    source.addEventListener('tick', heard);
    source.addEventListener('changed', event => { heard(event); renew(); });
    source.onerror = () => {
      gone();
      // A browser gives up for good where the answer is no stream, as while the server starts.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
    };
  };
  if (light) connect();
  addEventListener('pagehide', () => source && source.close());

  // What failed is said where everything is said.
  const said = document.getElementById('said');
  const complain = text => {
    const line = document.createElement('p');
    line.className = 'wrong';
    line.textContent = text;
    said.replaceChildren(line);
  };
  document.addEventListener('htmx:responseError', event => {
    const page = new DOMParser().parseFromString(event.detail.xhr.responseText, 'text/html');
    const detail = page.querySelector('[data-detail]');
    complain(detail ? detail.textContent : `The server answered ${event.detail.xhr.status}. Try again.`);
  });
  document.addEventListener('htmx:sendError', () => complain('The server cannot be reached. Try again when it is back.'));
})();
