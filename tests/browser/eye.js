// What a careful eye sees on any page. Put into every page of a walk before its own scripts.
(() => {
  // marks of a word that is missing, or of a value that nobody turned into words
  const MISSING = /\bundefined\b|\bNaN\b|\[object |Invalid Date|\bnull\b|\u0001|\u0002|=>/;
  const KEY = /^[a-z]+([._][a-z]+)+$/;
  // where names and values of documents are shown as they were written
  const DATA = "pre, code, .vars, textarea";
  const WRITTEN = [
    ".mono, kbd, time, dt, dd, h1, h2, blockquote, .copyable, .why, .facts, .step, .home-name, .home-text",
    ".cell-why, .cell-node, .exec-name, .panel-kind, .foresight, .logs, .net-text, .net-frame-head, .net-step, .tl-row, .tl-point",
  ].join(", ");
  const PANELS = "main, main section, main article, main aside, main .card, [role=tabpanel], [role=region]";
  const MEANT = "svg[role=img], canvas, input, textarea, [aria-label]";
  const visible = (one) => one.checkVisibility({ visibilityProperty: true });

  const words = () => {
    const bad = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode.textContent.trim();
      const parent = walker.currentNode.parentElement;
      if (!text || !parent || parent.closest("script, style") || parent.closest(DATA) || !visible(parent)) continue;
      if (MISSING.test(text) || (KEY.test(text) && !parent.closest(WRITTEN))) bad.push(text);
    }
    for (const one of document.querySelectorAll("[aria-label], [title], [placeholder]"))
      for (const name of ["aria-label", "title", "placeholder"])
        if (MISSING.test(one.getAttribute(name) ?? "")) bad.push(`${name}: ${one.getAttribute(name)}`);
    return bad;
  };

  const empty = () =>
    [...document.querySelectorAll(PANELS)]
      .filter((one) => visible(one) && !one.innerText.trim() && !one.querySelector(MEANT))
      .map((one) => `${one.tagName.toLowerCase()}.${one.className}`);

  const axe = async (only) => {
    const how = { resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) };
    const found = (await window.axe.run(document, how)).violations;
    const where = (node) => `${node.target.join(" ")} ${(node.any[0]?.message ?? "").slice(0, 160)}`;
    return found
      .filter((one) => one.impact === "serious" || one.impact === "critical")
      .map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(where).join(" | ")}`);
  };

  // colours that are inherited change level by level, a frame each: still means still for some frames
  const still = () =>
    new Promise((done) => {
      let calm = 0;
      const look = () => {
        calm = document.getAnimations().some((one) => one instanceof CSSTransition) ? 0 : calm + 1;
        if (calm > 4) done(true);
        else requestAnimationFrame(look);
      };
      look();
    });

  // what was asked and not answered yet; the stream is never answered
  let asked = 0;
  const ask = window.fetch;
  window.fetch = (...all) => {
    if (String(all[0]).endsWith("/stream")) return ask(...all);
    asked += 1;
    return ask(...all).finally(() => setTimeout(() => (asked -= 1), 20));
  };

  const settled = () =>
    asked === 0 && document.querySelector("main") && !document.querySelector(".booting, .skeleton, [aria-busy=true]")
    && (!document.querySelector(".run-net") || document.querySelector("[data-node], .net-step"))
    && document.fonts.status === "loaded";

  const go = (to) => {
    history.pushState(null, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
  };

  window.eye = { words, empty, axe, still, settled, go };
})();
