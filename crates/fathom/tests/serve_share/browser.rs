//! A real browser, told what to do over a pair of pipes (the DevTools protocol: JSON texts that end
//! with a zero byte).

#[path = "../../../report/tests/html/chromium.rs"]
mod chromium;

pub(crate) use chromium::NO_BROWSER;

use chromium::chromium;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// One page of a browser of its own.
pub(crate) struct Browser {
    child: Child,
    told: File,
    says: BufReader<File>,
    session: Option<String>,
    number: u64,
    /// What stood on the console, and what the page threw.
    pub(crate) console: Vec<String>,
}

impl Browser {
    /// `None` where there is no browser. Its files are below `home`.
    pub(crate) fn open(home: &Path) -> Option<Self> {
        let program = chromium()?;
        for pipe in ["told", "says"] {
            let made = Command::new("mkfifo").arg(home.join(pipe)).status();
            assert!(made.unwrap().success());
        }
        // The shell opens the ends that the browser takes as descriptors 3 and 4.
        let script = r#"cd "$1"; shift; exec "$@" 3<told 4>says"#;
        let child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(home)
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args([
                "--no-first-run",
                "--disable-extensions",
                "--hide-scrollbars",
            ])
            .args(["--remote-debugging-pipe", "--window-size=1280,900"])
            .arg(format!(
                "--user-data-dir={}",
                home.join("profile").display()
            ))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let told = File::options().write(true).open(home.join("told")).unwrap();
        let says = BufReader::new(File::open(home.join("says")).unwrap());
        let mut browser = Self {
            child,
            told,
            says,
            session: None,
            number: 0,
            console: Vec::new(),
        };
        let target = browser.tell("Target.createTarget", &json!({"url": "about:blank"}));
        let attached = browser.tell(
            "Target.attachToTarget",
            &json!({"targetId": target["targetId"], "flatten": true}),
        );
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "DOM.enable"] {
            browser.tell(domain, &json!({}));
        }
        Some(browser)
    }

    /// Tells the browser something, and gives what it answers.
    pub(crate) fn tell(&mut self, method: &str, parameters: &Value) -> Value {
        let answer = self.try_tell(method, parameters);
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_tell(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.told
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        loop {
            let mut bytes = Vec::new();
            self.says.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let said: Value = serde_json::from_slice(&bytes).unwrap();
            if said["id"] == self.number {
                return match said.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(said["result"].clone()),
                };
            }
            self.hear(&said);
        }
    }

    fn hear(&mut self, said: &Value) {
        match said["method"].as_str() {
            // Advice on forms is none of ours.
            Some("Log.entryAdded") if said["params"]["entry"]["level"] == "verbose" => {}
            Some("Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded") => {
                self.console.push(said["params"].to_string());
            }
            // Nothing is under way any more that leaving the page would break off.
            Some("Page.javascriptDialogOpening") => panic!("a dialog: {said}"),
            _ => {}
        }
    }

    /// What an expression gives; `None` where the page is just being exchanged for another.
    fn try_run(&mut self, expression: &str) -> Option<Value> {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let said = self.try_tell("Runtime.evaluate", &asked).ok()?;
        if let Some(thrown) = said.get("exceptionDetails") {
            panic!("{expression}: {thrown}");
        }
        Some(said["result"]["value"].clone())
    }

    pub(crate) fn run(&mut self, expression: &str) -> Value {
        self.try_run(expression).expect("the page stays")
    }

    /// Waits until an expression holds.
    pub(crate) fn until(&mut self, expression: &str) {
        // Each try is a way to the browser and back.
        for _ in 0..100_000 {
            if self.try_run(expression) == Some(true.into()) {
                return;
            }
        }
        let shown = self.run("document.body.innerText + location.href");
        panic!("it never holds: {expression}\n{shown}");
    }

    pub(crate) fn go(&mut self, url: &str) {
        self.tell("Page.navigate", &json!({"url": url}));
        let loaded = format!("location.href === {url:?} && document.readyState === 'complete'");
        self.until(&loaded);
    }

    /// Gives files to a field as its dialog does.
    pub(crate) fn choose(&mut self, selector: &str, files: &[PathBuf]) {
        let document = self.tell("DOM.getDocument", &json!({}));
        let root = &document["root"]["nodeId"];
        let found = self.tell(
            "DOM.querySelector",
            &json!({"nodeId": root, "selector": selector}),
        );
        self.tell(
            "DOM.setFileInputFiles",
            &json!({"nodeId": found["nodeId"], "files": files}),
        );
    }

    /// Makes the page so wide; whether all of it is to be seen without scrolling to the side. The
    /// picture is kept where `FATHOM_SCREENSHOTS` says.
    pub(crate) fn fits(&mut self, name: &str, width: u32) -> bool {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.tell("Emulation.setDeviceMetricsOverride", &size);
        let fits = self.run("document.documentElement.scrollWidth <= innerWidth");
        if let Some(dir) = std::env::var_os("FATHOM_SCREENSHOTS") {
            let shot = self.tell("Page.captureScreenshot", &json!({"format": "png"}));
            let path = Path::new(&dir).join(format!("{name}-{width}.png"));
            let mut decode = Command::new("base64")
                .arg("-d")
                .stdin(Stdio::piped())
                .stdout(File::create(path).unwrap())
                .spawn()
                .unwrap();
            let text = shot["data"].as_str().unwrap();
            let mut stdin = decode.stdin.take().unwrap();
            stdin.write_all(text.as_bytes()).unwrap();
            drop(stdin);
            assert!(decode.wait().unwrap().success());
        }
        fits == true
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}
