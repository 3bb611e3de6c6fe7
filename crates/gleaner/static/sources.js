// Selecting sources of the list. Without it, each is ticked by hand, and filters are shown by their button.
(() => {
  'use strict';
  const form = () => document.getElementById('bulk');
  const picks = () => [...document.querySelectorAll('#bulk input[name="id"]')];
  const tell = () => {
    const bulk = form();
    if (!bulk) return;
    for (const el of bulk.querySelectorAll('[data-script][hidden]')) el.hidden = false;
    const all = picks(), chosen = all.filter(one => one.checked);
    for (const one of all) one.closest('tr').classList.toggle('selected', one.checked);
    const here = bulk.querySelector('[data-all-here]');
    here.checked = chosen.length > 0 && chosen.length === all.length;
    here.indeterminate = chosen.length > 0 && chosen.length < all.length;
    const everything = bulk.querySelector('input[name="all"]:checked');
    const text = everything ? 'all that match are selected' : chosen.length ? `${chosen.length} selected` : '';
    const said = bulk.querySelector('[data-selected]');
    if (said.textContent !== text) said.textContent = text;
  };
  let last;
  document.addEventListener('click', event => {
    const pick = event.target.closest && event.target.closest('#bulk input[name="id"]');
    if (!pick) return;
    // With shift, everything from the last one that was ticked to this one.
    const all = picks(), from = all.indexOf(last), to = all.indexOf(pick);
    if (event.shiftKey && from >= 0) {
      for (const one of all.slice(Math.min(from, to), Math.max(from, to) + 1)) one.checked = pick.checked;
    }
    last = pick;
    tell();
  });
  document.addEventListener('change', event => {
    if (event.target.matches('[data-all-here]')) {
      for (const one of picks()) one.checked = event.target.checked;
    }
    if (event.target.closest('#bulk')) tell();
    const filters = event.target.closest('[data-at-once]');
    if (filters && event.target.matches('select, input[type="checkbox"]')) filters.requestSubmit();
  });
  // Enter in the value of a field sets it; the first button of the form polls.
  document.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || !event.target.matches('#bulk input[name="value"]')) return;
    event.preventDefault();
    form().querySelector('button[value="edit"]').click();
  });
  // Fields that say nothing stay out of the address.
  document.addEventListener('submit', event => {
    if (!event.target.matches('[data-at-once]')) return;
    const empty = [...event.target.elements].filter(one => one.name && !one.value);
    for (const one of empty) one.disabled = true;
    setTimeout(() => { for (const one of empty) one.disabled = false; });
  });
  document.addEventListener('htmx:afterSettle', tell);
  tell();
})();
