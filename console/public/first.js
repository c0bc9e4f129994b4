// Before the first paint: the theme and the tongue that were chosen last, so that nothing flashes.
(function () {
  var theme = null, locale = null;
  try {
    theme = localStorage.getItem("ps.theme");
    locale = localStorage.getItem("ps.locale");
  } catch (e) {
    // a browser that keeps nothing still shows the console
  }
  if (theme !== "light" && theme !== "dark")
    theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme;
  document.documentElement.lang = locale === "en" || locale === "ko" ? locale : navigator.language.startsWith("ko") ? "ko" : "en";
})();
