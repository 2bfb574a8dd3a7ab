// Has the browser keep a served page's files, a moment after it is there, for when there is no network.
(() => {
  const root = document.documentElement.dataset.content_root;
  async function keep() {
    try {
      if (navigator.connection?.saveData) return;
      await navigator.serviceWorker.register(new URL(`${root}offline.js`, location));
      const { active } = await navigator.serviceWorker.ready;
      const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
      active.postMessage([location.href, ...loaded]);
    } catch {} // from a disk, or where a browser keeps nothing, there is none
  }
  addEventListener("load", () => setTimeout(keep, 3000));
})();
