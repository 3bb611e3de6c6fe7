// Copies what is shown once.
(() => {
  'use strict';
  for (const button of document.querySelectorAll('[data-copy]')) {
    const input = button.parentElement.querySelector('input');
    button.hidden = false;
    button.addEventListener('click', async () => {
      input.select();
      try {
        await navigator.clipboard.writeText(input.value);
      } catch {
        // Where there is no clipboard for scripts, as without TLS, the old way.
        if (!document.execCommand('copy')) { button.textContent = 'Selected: press Ctrl+C'; return; }
      }
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
  }
})();
