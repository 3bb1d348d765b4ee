const one = (id) => document.getElementById(id);

/** An element with attributes, listeners (functions) and children; text stays text, so no name can be markup. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "circle", "line", "text", "title", "rect"].includes(tag) || attributes.svg;
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name !== "svg" && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

let key = ""; // in memory alone: gone when the page is closed
let asking = null;

/** What the service answers; asks for the key if it wants one. A refusal is an Error with its sentence. */
async function ask(address, parameters = {}) {
  const said = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null);
  const url = said.length ? `${address}?${new URLSearchParams(said)}` : address;
  for (let wrong = false; ; wrong = true) {
    const sent = key;
    const answer = await fetch(url, { headers: sent ? { "X-API-Key": bytes(sent) } : {} }).catch(() => null);
    if (!answer) throw new Error("The service does not answer; see whether it runs, then ask again.");
    if (answer.status === 401) {
      if (key === sent) await (asking ??= askForKey(wrong && sent !== "").finally(() => { asking = null; }));
      continue;
    }
    const body = await answer.json().catch(() => ({ detail: `The answer is no JSON (status ${answer.status}).` }));
    if (!answer.ok) throw new Error(body.detail);
    return body;
  }
}

/** A header holds bytes, a key any text. */
const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

function askForKey(wrong) {
  const box = make("input", { id: "key", type: "password", autocomplete: "off", required: "", "aria-describedby": "key-hint" });
  const hint = make("p", { id: "key-hint", class: "hint" }, "It is kept until this page is closed, and nowhere else.");
  const form = make("form", {}, make("h2", { id: "key-title" }, "This service asks for a key"));
  form.append(...(wrong ? [make("p", { class: "trouble", role: "alert" }, "That key is not the one.")] : []));
  form.append(make("label", { for: "key" }, "API key"), box, hint, make("button", { class: "go" }, "Go on"));
  const dialog = make("dialog", { "aria-labelledby": "key-title", cancel: (event) => event.preventDefault() }, form);
  document.body.append(dialog);
  dialog.showModal();
  box.focus();
  return new Promise((done) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      key = box.value.trim();
      dialog.remove();
      done();
    });
  });
}
