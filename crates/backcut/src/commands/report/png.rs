//! A drawing as PNG, by a browser.
//!
//! A rasteriser in the binary (`resvg`) would bring some sixty crates and still need the system's
//! fonts; a browser draws the page's figures already, is what the tests use, and is asked for only
//! here.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::exit::user;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const HINT: &str = "install Chromium (Debian: `apt-get install chromium`), or convert the SVG with \
                    another program";

/// Renders `svg`, already written to `file`, at twice its size.
pub fn write(svg: &str, file: &Path, image: &Path) -> anyhow::Result<()> {
    let size = |name: &str| -> Option<f64> {
        let (_, rest) = svg.split_once(&format!(" {name}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    let (width, height) = (size("width").unwrap_or(700.0), size("height").unwrap_or(500.0));
    let file = file.canonicalize()?;
    let image = std::path::absolute(image)?;
    let profile = image.with_extension("png-profile");
    for browser in BROWSERS {
        let mut command = Command::new(browser);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("--force-device-scale-factor=2")
            .arg(format!("--window-size={},{}", width.ceil(), height.ceil()))
            .arg(format!("--screenshot={}", image.display()))
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let outcome = command.status();
        let _ = std::fs::remove_dir_all(&profile);
        match outcome {
            Ok(status) if status.success() && image.is_file() => return Ok(()),
            Ok(status) => {
                let what =
                    format!("{browser} did not draw {}: it ended with {status}", file.display());
                return Err(user(what, HINT));
            }
            Err(_) => {}
        }
    }
    Err(user("no browser was found to draw a PNG", HINT))
}
