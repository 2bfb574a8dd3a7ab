// What scripts of code cells say for short.
const wait = (ms) => new Promise((go) => setTimeout(go, ms));

/** What a reader types into a field, the first or that of an exercise. */
function write(text, place = document) {
  const field = place.querySelector("textarea");
  field.value = text;
  field.dispatchEvent(new Event("input"));
}

Object.assign(globalThis, {
  wait,
  write,
  shown: () => document.querySelector("textarea").value,
  answer: (name, text) => write(text, document.querySelector(`[data-name=${name}]`)),
  /** The book's code, changed in one place. */
  edit(before, after) {
    const code = document.querySelector("#code pre").textContent.trim();
    if (!code.includes(before)) throw new Error(before);
    write(code.replace(before, after));
  },
  press: (name) => [...document.querySelectorAll("button")].find((each) => each.textContent === name).click(),
  async until(there) { while (!document.querySelector(there)) await wait(20); },
  /** An address that brings code along. */
  arrive(what) {
    const text = btoa(JSON.stringify(what)).replaceAll("+", "-").replaceAll("/", "_");
    location.hash = `#bench=${text.replaceAll("=", "")}`;
  },
  full() {
    Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
  },
});
