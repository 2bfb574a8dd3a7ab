// Starts the slides, where there are any. The formulas first: what they take of a slide is then known.

window.MathJax = {
  chtml: { matchFontHeight: false },
  options: { skipHtmlTags: ["script", "style", "pre", "code", "svg"] },
  startup: {
    pageReady: async () => {
      await window.MathJax.startup.defaultPageReady();
      await window.Reveal?.initialize({
        width: 1280,
        height: 720,
        margin: 0,
        center: false,
        hash: true,
        slideNumber: "c/t",
        transition: "none",
        backgroundTransition: "none",
        pdfSeparateFragments: true,
        pdfMaxPagesPerSlide: 1,
        plugins: [window.RevealNotes],
      });
      document.documentElement.dataset.ready = "";
    },
  },
};
