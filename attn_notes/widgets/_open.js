// Links in the text that open a state of a widget: <a href="#open-failed">one that failed</a>.

const PREFIX = "#open-";

/**
 * Let links open the states of the widget in `root`: `states` says by its name what to do. The page's own
 * address opens one as well, so that it can be sent to somebody. Gives how to stop.
 */
export function opens(root, states) {
  function open(address) {
    const name = address.startsWith(PREFIX) ? address.slice(PREFIX.length) : "";
    if (!Object.hasOwn(states, name)) return false;
    states[name]();
    root.tabIndex = -1; // takes the focus, so that whoever does not see it move hears where they are
    root.focus({ preventScroll: true });
    const { top } = root.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) root.scrollIntoView({ block: "start" });
    return true;
  }
  function click(event) {
    const address = event.target.closest?.("a[href]")?.getAttribute("href") ?? "";
    if (!open(address)) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // no second widget's, and no heading that JupyterLab looks for
    if (location.hash !== address) history.pushState(history.state, "", address); // Back: as it was
  }
  const follow = () => open(location.hash);
  document.addEventListener("click", click, true);
  addEventListener("hashchange", follow);
  follow();
  return () => {
    document.removeEventListener("click", click, true);
    removeEventListener("hashchange", follow);
  };
}
