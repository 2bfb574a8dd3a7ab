// Lets the keyboard scroll an equation or a figure that is wider than the page. The theme does this
// for code and tables; equations come later, when MathJax has set them.
(() => {
  const WIDE = 'mjx-container[display="true"], .attn-figure, .output.text_html';

  function update() {
    for (const element of document.querySelectorAll(WIDE)) {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  }

  addEventListener("resize", update);
  addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    update();
  });
})();
