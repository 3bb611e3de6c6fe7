// Sends a file that is dropped or chosen, and says how far it is. Without it, lists are pasted or fetched.
(() => {
  'use strict';
  const card = document.getElementById('drop');
  if (!card) return;
  const area = card.querySelector('[data-drop]'), input = document.getElementById('file');
  const upload = document.getElementById('upload'), wrong = document.getElementById('upload-wrong');
  const bar = upload.querySelector('progress'), said = upload.querySelector('[data-said]');
  const MOST = 50 * 1024 * 1024;
  card.hidden = false;

  const complain = text => {
    upload.hidden = true;
    area.hidden = false;
    wrong.textContent = text;
    wrong.hidden = false;
  };
  const send = file => {
    if (!file) return;
    wrong.hidden = true;
    if (file.size > MOST) { complain(`${file.name} is larger than 50 MB. Split it, and import the parts.`); return; }
    area.hidden = true;
    upload.hidden = false;
    said.textContent = `Sending ${file.name}…`;
    bar.value = 0;
    const into = document.getElementById('into').value, backfill = document.getElementById('backfill').value;
    const request = new XMLHttpRequest();
    request.open('POST', `/import?name=${encodeURIComponent(file.name)}&collection=${encodeURIComponent(into)}&backfill=${encodeURIComponent(backfill)}`);
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.setRequestHeader('X-Form-Token', card.dataset.token);
    request.upload.onprogress = event => { if (event.lengthComputable) bar.value = event.loaded / event.total; };
    request.onload = () => {
      if (request.status < 400 && new URL(request.responseURL).pathname.startsWith('/import/')) {
        location.assign(request.responseURL);
        return;
      }
      if (request.status < 400) { location.reload(); return; }
      const page = new DOMParser().parseFromString(request.responseText, 'text/html');
      const detail = page.querySelector('[data-detail]');
      complain(detail ? detail.textContent : `The server answered ${request.status}. Try again.`);
    };
    request.onerror = () => complain('The server cannot be reached. Try again when it is back.');
    request.send(file);
  };

  input.addEventListener('change', () => { send(input.files[0]); input.value = ''; });
  let over = 0;
  const mark = step => { over = Math.max(0, over + step); area.classList.toggle('over', over > 0); };
  document.addEventListener('dragenter', event => { event.preventDefault(); mark(1); });
  document.addEventListener('dragleave', () => mark(-1));
  document.addEventListener('dragover', event => event.preventDefault());
  document.addEventListener('drop', event => {
    event.preventDefault();
    over = 0;
    mark(0);
    if (!area.hidden) send(event.dataTransfer.files[0]);
  });
})();
