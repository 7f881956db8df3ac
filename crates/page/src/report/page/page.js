(function () {
  "use strict";
  var tip = document.getElementById("tip");
  var root = document.documentElement;
  function place(text, box) {
    tip.textContent = text;
    tip.hidden = false;
    var wide = root.clientWidth;
    var left = Math.min(Math.max(4, box.left + box.width / 2 - tip.offsetWidth / 2), wide - tip.offsetWidth - 4);
    var above = box.top - tip.offsetHeight - 8;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = (above > 4 ? above : box.bottom + 8) + "px";
  }
  function markAt(target) { return target.closest ? target.closest("[data-v]") : null; }
  function show(event) {
    var mark = markAt(event.target);
    if (!mark) { tip.hidden = true; return; }
    var group = mark.closest("[data-g]"); // what a group of marks shows is said once
    place((group ? group.getAttribute("data-g") + ", " : "") + mark.getAttribute("data-v"), mark.getBoundingClientRect());
  }
  // Along a curve: its vertices are those of its path, its values stand beside them in the same order.
  function vertices(path) {
    if (!path.points) {
      path.points = path.getAttribute("d").slice(1).split("L").map(function (p) { return p.split(" ").map(Number); });
      path.values = path.getAttribute("data-p").split(" ");
    }
    return path.points;
  }
  function along(event) {
    if (markAt(event.target)) { return; }
    var panel = event.target.closest ? event.target.closest("svg.panel") : null;
    var best = null;
    if (panel) {
      var at = new DOMPoint(event.clientX, event.clientY).matrixTransform(panel.getScreenCTM().inverse());
      panel.querySelectorAll("path[data-p]").forEach(function (path) {
        vertices(path).forEach(function (p, i) {
          var far = Math.abs(p[0] - at.x) + Math.abs(p[1] - at.y);
          if (12 > far && (!best || best.far > far)) { best = { far: far, path: path, i: i, p: p }; }
        });
      });
    }
    if (!best) { tip.hidden = true; return; }
    var there = new DOMPoint(best.p[0], best.p[1]).matrixTransform(panel.getScreenCTM());
    var box = { left: there.x, top: there.y, bottom: there.y, width: 0 };
    place(best.path.getAttribute("data-c") + " " + best.path.values[best.i].replace("=", ": "), box);
  }
  document.addEventListener("pointerover", show);
  document.addEventListener("pointermove", along);
  document.addEventListener("click", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", function () { tip.hidden = true; });
  document.addEventListener("scroll", function () { tip.hidden = true; }, { passive: true });
  // A figure is one stop of the Tab key; arrows go through its marks, whose values are their names.
  document.querySelectorAll("path[tabindex]").forEach(function (mark) {
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", mark.getAttribute("data-v"));
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { tip.hidden = true; return; }
    var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    var panels = event.target.closest ? event.target.closest(".panels") : null;
    if (!step || !panels) { return; }
    var marks = Array.prototype.slice.call(panels.querySelectorAll("path[tabindex]"));
    if (!marks.length) { return; }
    var next = marks.indexOf(event.target) + step;
    if (event.target === panels && 0 > step) { next = marks.length - 1; }
    marks[(next + marks.length) % marks.length].focus();
    event.preventDefault();
  });
  document.getElementById("theme").addEventListener("click", function () {
    var chosen = root.getAttribute("data-theme");
    var dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.setAttribute("data-theme", dark ? "light" : "dark");
  });
  // What moves stands still at its end for who asked for no motion, and on paper; a click stops it or lets it go on.
  var movers = Array.prototype.filter.call(document.querySelectorAll("svg.panel"), function (panel) {
    return panel.querySelector("animateTransform");
  });
  function stop(panel) {
    panel.pauseAnimations();
    panel.setCurrentTime(parseFloat(panel.querySelector("animateTransform").getAttribute("dur")) - 0.01);
  }
  movers.forEach(function (panel) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { stop(panel); }
    panel.addEventListener("click", function () {
      if (panel.animationsPaused()) { panel.unpauseAnimations(); } else { panel.pauseAnimations(); }
    });
  });
  window.addEventListener("beforeprint", function () { movers.forEach(stop); });
  // A link into a folded part opens it.
  function unfold() {
    var goal = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    for (var part = goal; part; part = part.parentElement) { if (part.tagName === "DETAILS") { part.open = true; } }
    if (goal) { goal.scrollIntoView(); }
  }
  window.addEventListener("hashchange", unfold);
  unfold();
  // The contents mark the section that is being read.
  var links = Array.prototype.slice.call(document.querySelectorAll("nav a"));
  var heads = links.map(function (link) { return document.getElementById(link.getAttribute("href").slice(1)); });
  function reading() {
    var now = 0;
    heads.forEach(function (head, i) { if (head && 120 > head.getBoundingClientRect().top) { now = i; } });
    links.forEach(function (link, i) { if (i === now) { link.setAttribute("aria-current", "true"); } else { link.removeAttribute("aria-current"); } });
  }
  document.addEventListener("scroll", reading, { passive: true });
  reading();
})();
