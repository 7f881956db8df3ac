//! What a reader gets: the page in Chromium, with hostile results.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../page/tests/common/browser.rs"]
mod browser;
mod common;

use browser::Browser;
use serde_json::{Value, json};

fn events<'e>(browser: &'e Browser, method: &str) -> Vec<&'e Value> {
    browser.events.iter().filter(|event| event["method"] == method).collect()
}

#[test]
fn the_page_works_without_network_errors_or_overflow() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = common::open(folder.path()).with_design(common::design());
    let file = folder.path().join("report.html");
    std::fs::write(&file, results.page(None).unwrap()).unwrap();
    let mut browser = Browser::start();
    browser.view(1200, 1600, "light");
    browser.open(&file);

    // Hostile strings are text: no script of theirs ran, no element of theirs exists.
    assert_eq!(browser.evaluate("typeof window.broken"), "undefined");
    assert_eq!(browser.evaluate("document.querySelectorAll('img,iframe,script[src]').length"), 0);
    assert_eq!(browser.evaluate("document.scripts.length"), 1);
    assert!(
        browser.evaluate("document.body.textContent.includes('<script>window.broken')") == true
    );

    a_pointer_shows_the_value(&mut browser);
    a_keyboard_shows_the_value(&mut browser);
    the_link_holds_the_figures_data(&mut browser, &results.figure("memory-value").unwrap().csv);
    arrows_go_through_a_figure_that_is_one_stop(&mut browser);
    a_curve_tells_its_values_along_its_length(&mut browser);
    every_link_leads_somewhere(&mut browser);
    both_themes_fit_every_width(&mut browser);
    paper_shows_whole_words_and_no_scrollbars(&mut browser);
    the_button_switches_the_theme(&mut browser);

    let requests: Vec<String> = events(&browser, "Network.requestWillBeSent")
        .iter()
        .map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned())
        .filter(|url| !url.starts_with("data:") && !url.ends_with("/report.html"))
        .collect();
    assert!(requests.is_empty(), "{requests:?}");
    for method in ["Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"] {
        assert!(events(&browser, method).is_empty(), "{:?}", events(&browser, method));
    }
}

/// Until the page has scrolled and told so.
fn two_frames(browser: &mut Browser) {
    browser
        .evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

/// What the page shows once a pointer is at an element; `place` is a function of it that gives x
/// and y.
fn tip_at(browser: &mut Browser, element: &str, place: &str) -> String {
    browser.evaluate(&format!("{element}.scrollIntoView({{block: 'center'}})"));
    two_frames(browser);
    let at = browser.evaluate(&format!("({place})({element})"));
    browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": at[0], "y": at[1]}));
    let tip =
        browser.evaluate("(t => t.hidden ? '' : t.textContent)(document.getElementById('tip'))");
    tip.as_str().unwrap().to_owned()
}

fn a_pointer_shows_the_value(browser: &mut Browser) {
    let mark = "document.querySelector('#figure-memory-value path[tabindex]')";
    let middle =
        "e => (b => [b.left + b.width / 2, b.top + b.height / 2])(e.getBoundingClientRect())";
    let tip = tip_at(browser, mark, middle);
    assert!(tip.contains("pointwise 95%") && tip.contains("sources"), "{tip:?}");
    assert_eq!(browser.evaluate(&format!("{mark}.dataset.v")), tip);
}

fn a_keyboard_shows_the_value(browser: &mut Browser) {
    browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": 1, "y": 1}));
    let mark = "document.querySelectorAll('#figure-memory-value path[tabindex]')[2]";
    browser.evaluate(&format!("{mark}.focus()"));
    let shown = browser.evaluate("document.getElementById('tip').textContent");
    assert_eq!(browser.evaluate(&format!("{mark}.getAttribute('aria-label')")), shown);
}

fn the_link_holds_the_figures_data(browser: &mut Browser, csv: &str) {
    let link = "document.querySelector('#figure-memory-value a.csv')";
    // Long data are packed; the browser unpacks them as a reader's own tools would.
    let data = browser.evaluate(&format!(
        "(() => {{ const packed = Uint8Array.from(atob({link}.href.split(',')[1]), c => \
         c.charCodeAt(0)); const text = new Blob([packed]).stream().pipeThrough(new \
         DecompressionStream('gzip')); return new Response(text).text(); }})()"
    ));
    assert!(data.as_str() == Some(csv), "the link holds other data than the figure");
    assert_eq!(browser.evaluate(&format!("{link}.download")), "memory-value.csv.gz");
}

fn arrows_go_through_a_figure_that_is_one_stop(browser: &mut Browser) {
    let stops = browser.evaluate(
        "[...document.querySelectorAll('figure')].filter(f => \
         f.querySelectorAll('[tabindex=\"0\"]').length !== 1).length",
    );
    assert_eq!(stops, 0);
    browser.evaluate("document.querySelector('#figure-memory-value .panels').focus()");
    browser.press("ArrowRight");
    browser.press("ArrowRight");
    let marks = "document.querySelectorAll('#figure-memory-value path[tabindex]')";
    assert_eq!(browser.evaluate(&format!("[...{marks}].indexOf(document.activeElement)")), 1);
    let shown = browser.evaluate("document.getElementById('tip').textContent");
    assert_eq!(browser.evaluate("document.activeElement.dataset.v"), shown);
}

fn a_curve_tells_its_values_along_its_length(browser: &mut Browser) {
    let curve = "document.querySelector('#figure-branch path[data-p]')";
    let start = "c => { const p = c.getPointAtLength(0).matrixTransform(c.getScreenCTM()); return \
                 [p.x, p.y]; }";
    let tip = tip_at(browser, curve, start);
    assert!(tip.contains("after update") && tip.contains(": 0.0"), "{tip:?}");
}

fn every_link_leads_somewhere(browser: &mut Browser) {
    let lost = "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => \
                a.getAttribute('href').slice(1)).filter(id => !document.getElementById(id))";
    assert_eq!(browser.evaluate(lost), json!([]));
    let ids = "(all => all.filter((id, i) => all.indexOf(id) !== \
               i))([...document.querySelectorAll('[id]')].map(e => e.id))";
    assert_eq!(browser.evaluate(ids), json!([]), "no two parts have one name");
    assert!(
        browser.evaluate("document.querySelectorAll('details a.to').length").as_u64() > Some(20)
    );
    // A link into a folded part opens it.
    browser.evaluate("location.hash = '#table-c5'");
    two_frames(browser);
    assert_eq!(
        browser.evaluate("document.querySelector('#table-c5').closest('details').open"),
        true
    );
}

fn paper_shows_whole_words_and_no_scrollbars(browser: &mut Browser) {
    browser.on_paper();
    assert_eq!(browser.evaluate(browser::CRAMPED), json!([]));
    assert!(browser.evaluate("document.documentElement.scrollWidth").as_u64() <= Some(688));
    let scrolling = "[...document.querySelectorAll('.scroll')].filter(e => \
                     getComputedStyle(e).overflowX !== 'visible').length";
    assert_eq!(browser.evaluate(scrolling), 0);
    assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('nav')).display"), "none");
}

fn both_themes_fit_every_width(browser: &mut Browser) {
    let mut shots = Vec::new();
    browser.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })");
    for width in [1280, 820, 700, 390] {
        for (theme, colour) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 24, 28)")] {
            browser.view(width, 1600, theme);
            browser.evaluate("window.scrollTo(0, 0)");
            let paper = browser.evaluate("getComputedStyle(document.body).backgroundColor");
            assert_eq!(paper, colour, "{theme}");
            let wide = browser.evaluate("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= width, "{wide} at {width}");
            let overlaps = browser.evaluate(browser::OVERLAPPING);
            assert_eq!(overlaps, json!([]), "{theme} at {width}");
            assert_eq!(browser.evaluate(browser::CRAMPED), json!([]), "{theme} at {width}");
            let shot = browser.screenshot();
            assert!(shot.len() > 40_000, "{} at {width}", shot.len());
            assert!(!shots.contains(&shot));
            shots.push(shot);
        }
    }
}

fn the_button_switches_the_theme(browser: &mut Browser) {
    browser.view(1200, 1600, "dark");
    let paper = "getComputedStyle(document.body).backgroundColor";
    let before = browser.evaluate(paper);
    browser.evaluate("document.getElementById('theme').click()");
    assert_ne!(browser.evaluate(paper), before);
    browser.evaluate("document.getElementById('theme').click()");
    assert_eq!(browser.evaluate(paper), before);
}
