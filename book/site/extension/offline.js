// Lies at the root of a served site. What a page has loaded, and what it may still ask for, is kept:
// an opened lesson goes on without a network, and can be loaded again. The network is asked first, so
// that nobody reads yesterday's page; no request to another place passes here.

const KEPT = "attention-notes";
const SITE = new URL("./", location).href;

addEventListener("install", () => self.skipWaiting());
addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
addEventListener("message", (event) => event.waitUntil(keep(event.data).catch(() => {}))); // another time

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(SITE)) event.respondWith(answer(event));
});

/** A file is one, whatever state a link to it opens, and whichever version its address names. */
const plain = (address) => address.split(/[?#]/)[0];

async function answer(event) {
  const url = plain(event.request.url);
  try {
    const found = await fetch(event.request);
    if (found.status === 200 && !found.redirected) event.waitUntil(put(url, found.clone()));
    return found;
  } catch (error) {
    const before = await (await caches.open(KEPT)).match(url);
    if (before) return before;
    throw error;
  }
}

/** Beside the answer, which waits for nothing; where nothing more can be kept, it is an answer still. */
const put = (url, found) => caches.open(KEPT).then((kept) => kept.put(url, found)).catch(() => {});

/** Keep what a page has loaded, and the files of `offline.json` that are everybody's or its lesson's. */
async function keep([page, ...loaded]) {
  const [kept, answer] = [await caches.open(KEPT), await fetch(new URL("offline.json", SITE))];
  const files = await answer.json();
  const mine = Object.keys(files).filter((lesson) => !lesson || page.includes(`/lessons/${lesson}/`));
  const asked = mine.flatMap((lesson) => files[lesson].map((file) => new URL(file, SITE).href));
  const here = [page, ...loaded].filter((address) => address.startsWith(SITE)).map(plain);
  const before = new Set((await kept.keys()).map(({ url }) => url));
  // What a file of another version left behind.
  const known = new Set(Object.values(files).flat().map((file) => new URL(file, SITE).href));
  for (const url of before) if (/\/_static\/(?!mathjax)/.test(url) && !known.has(url)) await kept.delete(url);
  for (const url of new Set([...here, ...asked])) if (!before.has(url)) await kept.add(url);
}
