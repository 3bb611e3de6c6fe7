// A source's page: the axis of its timeline in the reader's own zone, and buttons that say that they are at work.
(() => {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg';
  const make = (name, attributes, text) => {
    const el = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) el.setAttribute(key, value);
    if (text) el.textContent = text;
    return el;
  };
  const named = { 1: { hour: '2-digit', minute: '2-digit' }, 7: { weekday: 'short', day: 'numeric' }, 30: { day: 'numeric', month: 'short' } };
  const draw = () => {
    const axis = document.querySelector('[data-ticks]:not([data-local])');
    if (!axis) return;
    axis.dataset.local = '';
    const days = Number(axis.dataset.ticks), from = Number(axis.dataset.from), to = Number(axis.dataset.to);
    const at = new Date(from), marks = [];
    at.setMinutes(0, 0, 0);
    if (days > 1) at.setHours(0);
    else at.setHours(at.getHours() - at.getHours() % 3);
    // By the calendar, since days have 23 hours now and then.
    const next = () => days > 7 ? at.setDate(at.getDate() + 5) : days > 1 ? at.setDate(at.getDate() + 1) : at.setHours(at.getHours() + 3);
    for (let n = 0; at < to && n < 50; next(), n++) {
      const x = (at - from) / (to - from) * 100;
      if (x < 2 || x > 98) continue;
      marks.push(make('line', { x1: `${x}%`, x2: `${x}%`, y1: 160, y2: 165 }));
      const label = days > 1 ? at.toLocaleDateString('en-GB', named[days]) : at.toLocaleTimeString([], named[1]);
      marks.push(make('text', { class: 'label', x: `${x}%`, y: 179, 'text-anchor': 'middle' }, label));
    }
    axis.replaceChildren(...marks);
    const zone = document.querySelector('[data-zone]');
    if (zone) zone.textContent = 'Times are yours.';
  };
  draw();
  document.addEventListener('htmx:afterSettle', draw);

  document.addEventListener('submit', event => {
    const button = event.submitter;
    if (!button || !button.dataset.busy) return;
    button.textContent = button.dataset.busy;
    // After the form has been sent, so that its button's own value goes along.
    setTimeout(() => { button.disabled = true; }, 0);
  });
  addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
})();
