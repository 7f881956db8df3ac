(function () {
  "use strict";
  var tip = document.getElementById("tip");
  var root = document.documentElement;
  function show(event) {
    var mark = event.target.closest ? event.target.closest("[data-v]") : null;
    if (!mark) { tip.hidden = true; return; }
    tip.textContent = mark.getAttribute("data-v");
    tip.hidden = false;
    var box = mark.getBoundingClientRect();
    var wide = document.documentElement.clientWidth;
    var left = Math.min(Math.max(4, box.left + box.width / 2 - tip.offsetWidth / 2), wide - tip.offsetWidth - 4);
    var above = box.top - tip.offsetHeight - 8;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = (above > 4 ? above : box.bottom + 8) + "px";
  }
  document.addEventListener("pointerover", show);
  document.addEventListener("click", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", function () { tip.hidden = true; });
  document.addEventListener("scroll", function () { tip.hidden = true; }, { passive: true });
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") { tip.hidden = true; } });
  document.getElementById("theme").addEventListener("click", function () {
    var chosen = root.getAttribute("data-theme");
    var dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.setAttribute("data-theme", dark ? "light" : "dark");
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (part) { part.open = true; });
  });
})();
