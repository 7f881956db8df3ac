//! A browser at the end of a debugging socket: just enough to load a page and look at it.
#![allow(dead_code, reason = "every test file uses a part")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Labels of a drawing that run over one another or out of it.
pub const OVERLAPPING: &str = r"(() => {
    const found = [];
    for (const svg of document.querySelectorAll('svg.panel')) {
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
        texts.forEach(([text, a], i) => {
            if (a.left < frame.left - 1 || a.right > frame.right + 1) found.push('out: ' + text);
            for (const [other, b] of texts.slice(i + 1)) {
                const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (x > 1 && y > 3) found.push(text + ' / ' + other);
            }
        });
    }
    return found.slice(0, 5);
})()";

/// Cells of several words in columns too narrow for one, and tables that are wider than their
/// place.
pub const CRAMPED: &str = r"(() => {
    const found = [];
    for (const cell of document.querySelectorAll('td')) {
        if (!cell.getClientRects().length) continue;
        const words = cell.textContent.trim().split(/\s+/);
        if (words.length > 3 && cell.clientWidth < 60) found.push(cell.clientWidth + ': ' + cell.textContent);
    }
    for (const box of document.querySelectorAll('.cards')) {
        if (box.scrollWidth > box.clientWidth + 1) found.push('wide: ' + box.querySelector('table')?.id);
    }
    return found.slice(0, 5);
})()";

/// A running browser with one page.
pub struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    last_id: u64,
    /// Everything that the page reported, in order.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts Chromium; a machine without it fails the test (`cargo xtask test` installs it).
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let process = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args([
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium is installed");
        let port_file = profile.path().join("DevToolsActivePort");
        let port = wait_for(|| {
            let text = std::fs::read_to_string(&port_file).ok()?;
            text.lines().next()?.parse::<u16>().ok()
        });
        let address = wait_for(|| {
            let pages: Value = serde_json::from_str(&get(port, "/json/list")?).ok()?;
            let page = pages.as_array()?.iter().find(|p| p["type"] == "page")?.clone();
            Some(page["webSocketDebuggerUrl"].as_str()?.to_owned())
        });
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let (socket, _) = tungstenite::client(address, stream).unwrap();
        let mut browser =
            Self { process, socket, last_id: 0, events: Vec::new(), _profile: profile };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer.
    #[expect(clippy::needless_pass_by_value, reason = "callers write their parameters in place")]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let text = json!({"id": id, "method": method, "params": params}).to_string();
        self.socket.send(Message::text(text)).unwrap();
        loop {
            let message = self.next();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Loads a file and waits until it is there.
    pub fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while !self.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let message = self.next();
            self.events.push(message);
        }
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The page as wide as asked, in a theme.
    pub fn view(&mut self, width: u64, height: u64, theme: &str) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": "", "features": features}));
    }

    /// The page as a sheet of paper shows it: A4 between its margins.
    pub fn on_paper(&mut self) {
        let metrics =
            json!({"width": 688, "height": 1017, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        self.call("Emulation.setEmulatedMedia", json!({"media": "print", "features": []}));
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}));
        }
    }

    /// A screenshot's PNG, still in base64.
    pub fn screenshot(&mut self) -> String {
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        shot["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Polls, half a minute at most.
fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    for _ in 0..300 {
        if let Some(value) = ready() {
            return value;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the browser did not come up");
}

fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (_, body) = text.split_once("\r\n\r\n")?;
    let (start, end) = (body.find('[')?, body.rfind(']')?);
    Some(body[start..=end].to_owned())
}
