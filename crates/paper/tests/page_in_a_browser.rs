//! What a reader gets: the page in Chromium, with hostile results.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../report/tests/common/browser.rs"]
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
    both_themes_fit_both_widths(&mut browser);
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

fn a_pointer_shows_the_value(browser: &mut Browser) {
    let mark = "document.querySelector('#figure-memory-value path[tabindex]')";
    browser.evaluate(&format!("{mark}.scrollIntoView({{block: 'center'}})"));
    browser
        .evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    let place = browser.evaluate(&format!(
        "(b => [b.left + b.width / 2, b.top + b.height / 2])({mark}.getBoundingClientRect())"
    ));
    browser.call(
        "Input.dispatchMouseEvent",
        json!({"type": "mouseMoved", "x": place[0], "y": place[1]}),
    );
    let tip =
        browser.evaluate("(t => t.hidden ? '' : t.textContent)(document.getElementById('tip'))");
    let tip = tip.as_str().unwrap();
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
    let data =
        browser.evaluate(&format!("decodeURIComponent({link}.href.split(',').slice(1).join(','))"));
    assert_eq!(data.as_str().unwrap(), csv);
    assert_eq!(browser.evaluate(&format!("{link}.download")), "memory-value.csv");
}

fn both_themes_fit_both_widths(browser: &mut Browser) {
    let mut shots = Vec::new();
    for width in [1200, 390] {
        for (theme, colour) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 24, 28)")] {
            browser.view(width, 1600, theme);
            browser.evaluate("window.scrollTo(0, 0)");
            let paper = browser.evaluate("getComputedStyle(document.body).backgroundColor");
            assert_eq!(paper, colour, "{theme}");
            let wide = browser.evaluate("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= width, "{wide} at {width}");
            let overlaps = browser.evaluate(browser::OVERLAPPING);
            assert_eq!(overlaps, json!([]), "{theme} at {width}");
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
