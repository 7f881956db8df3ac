//! One self-contained HTML page.
//!
//! The page holds its styles, its script, its drawings and its data; a content security policy forbids everything
//! else, and names the script by its hash, so that nothing that slipped into the page could run. Markup
//! is written with plain formatting: there is one escape function and no template language to disagree with it.

mod sections;

use std::fmt::Write as _;

use crate::error::ReportError;
use crate::escape::xml;
use crate::results::Results;
use crate::svg::{page_variables, rules};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of the script, as a policy writes it. The browser test fails when it does not fit.
const SCRIPT_HASH: &str = include_str!("page.js.sha256");

/// What a page is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageOptions {
    /// The title.
    pub title: String,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self { title: "What does a memory cut cost?".into() }
    }
}

/// A finished page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The whole file.
    pub html: String,
}

/// Makes the page.
pub fn page(results: &Results, options: &PageOptions) -> Result<Page, ReportError> {
    let title = xml(&options.title);
    let mut html = String::new();
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
         script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n",
        SCRIPT_HASH.trim()
    );
    let (light, dark) = (page_variables(false), page_variables(true));
    let _ = write!(
        html,
        ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
         @media screen{{:root[data-theme=dark]{{{dark}}}}}\n{}\n{STYLE}</style>\n</head>\n<body>\n",
        rules(false)
    );
    sections::write(&mut html, results, &title)?;
    let _ = write!(
        html,
        "<div id=\"tip\" role=\"status\" hidden></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    Ok(Page { html })
}
