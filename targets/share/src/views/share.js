"use strict";
const all = (selector) => document.querySelectorAll(selector);

// Times in the reader's own zone.
for (const time of all("time")) {
  const date = new Date(time.dateTime);
  time.textContent = date.toLocaleString();
  time.title = time.dateTime;
}

// A field for a time has it without its zone, which is the reader's.
function local(date) {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 6e4);
  return shifted.toISOString().slice(0, 19);
}
for (const field of all("input[data-at]")) field.value = local(new Date(field.dataset.at));

function valueOf(field) {
  if (field.type === "checkbox") return field.checked;
  if (field.value === "") return "number" in field.dataset ? null : "";
  if (field.type === "datetime-local") return new Date(field.value).toISOString();
  return "number" in field.dataset ? Number(field.value) : field.value;
}

async function ask(method, url, body) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const answer = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
}

function say(near, text) {
  const place = near.closest("form")?.querySelector(".said") ?? document.querySelector(".said");
  if (place) place.textContent = text; else alert(text);
}

for (const button of all("button[data-method]")) {
  button.addEventListener("click", async () => {
    try { await ask(button.dataset.method, button.dataset.url); location.href = button.dataset.then; }
    catch (error) { say(button, error.message); }
  });
}

for (const form of all("form[data-json]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = {};
    for (const field of form.querySelectorAll("[name]")) body[field.name] = valueOf(field);
    try { await ask(form.dataset.method, form.dataset.url, body); location.href = form.dataset.then; }
    catch (error) { say(form, error.message); }
  });
}

async function copy(button, text) {
  await navigator.clipboard.writeText(new URL(text, location.href).href);
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}
for (const button of all("button[data-copy]")) {
  button.addEventListener("click", () => copy(button, button.dataset.copy));
}

const zone = document.getElementById("upload");
if (zone) {
  const [list, drop, input] = [zone.querySelector("#progress"), zone.querySelector(".drop"), zone.querySelector("#files")];
  const [choice, end, said] = [zone.querySelector("#expires"), zone.querySelector("#end"), zone.querySelector(".said")];
  const waiting = [];
  let running = 0;

  function element(name, set, ...inside) {
    const made = Object.assign(document.createElement(name), set);
    made.append(...inside);
    return made;
  }

  function add(files) {
    said.textContent = "";
    if (!input.multiple && files.length > 1) {
      said.textContent = "one file takes the place of another: choose one";
      return;
    }
    if (choice?.value === "date" && !end.value) {
      said.textContent = "say first until when";
      end.focus();
      return;
    }
    for (const file of files) {
      const bar = element("progress", { max: 1, value: 0 });
      const state = element("span", { textContent: "waiting" });
      const row = element("li", {}, element("span", { className: "name", textContent: file.name }), state, bar);
      list.append(row);
      waiting.push({ file, bar, state, row });
    }
    next();
  }

  // One after the other: together they would take as long, and all of them would be unfinished.
  function next() {
    const job = running === 0 ? waiting.shift() : undefined;
    if (job) { running += 1; send(job); }
  }

  function address() {
    const url = new URL(zone.dataset.url, location.href);
    const days = choice?.value;
    if (days === "never") url.searchParams.set("expiration", "2999-12-31T00:00:00Z");
    else if (days === "date") url.searchParams.set("expiration", new Date(end.value).toISOString());
    else if (days) url.searchParams.set("expiration", new Date(Date.now() + days * 864e5).toISOString());
    return url;
  }

  function send(job) {
    const form = new FormData();
    const note = document.getElementById("note").value;
    if (note) form.append("note", note);
    form.append("file", job.file, job.file.name);
    // Only this way of asking says how much has gone.
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => {
      job.bar.value = event.total ? event.loaded / event.total : 1;
      job.state.textContent = event.loaded < event.total ? `${Math.floor(100 * job.bar.value)} %` : "being stored";
    });
    request.addEventListener("loadend", () => {
      running -= 1;
      if (request.status === 200) done(job, JSON.parse(request.responseText).id);
      else failed(job, request.responseText.trim() || "the connection broke");
      next();
    });
    request.open("POST", address());
    request.setRequestHeader("Accept", "application/json");
    request.send(form);
  }

  function done(job, id) {
    if (zone.dataset.then && !waiting.length) { location.href = zone.dataset.then; return; }
    const link = `/-${id}/${encodeURIComponent(job.file.name)}`;
    const button = element("button", { type: "button", textContent: "Copy link" });
    button.addEventListener("click", () => copy(button, link));
    job.bar.remove();
    job.state.replaceWith(button);
    job.row.querySelector(".name").replaceWith(element("a", { className: "name", href: link, textContent: job.file.name }));
  }

  function failed(job, why) {
    const button = element("button", { type: "button", textContent: "Send again" });
    button.addEventListener("click", () => {
      button.replaceWith(job.state);
      [job.state.textContent, job.bar.value] = ["waiting", 0];
      job.row.querySelector(".said").remove();
      waiting.push(job);
      next();
    });
    job.state.replaceWith(button);
    job.row.append(element("p", { className: "said", textContent: why }));
  }

  choice?.addEventListener("change", () => { end.closest("label").hidden = choice.value !== "date"; });
  input.addEventListener("change", () => { add(input.files); input.value = ""; });
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    add(event.dataTransfer.files);
  });
  document.addEventListener("paste", (event) => {
    if (event.target instanceof HTMLInputElement) return;
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(":", "");
    if (event.clipboardData.files.length) return add(event.clipboardData.files);
    const text = event.clipboardData.getData("text/plain");
    if (text) add([new File([text], `pasted-${stamp}.txt`, { type: "text/plain" })]);
  });
  addEventListener("beforeunload", (event) => { if (running || waiting.length) event.preventDefault(); });
}
