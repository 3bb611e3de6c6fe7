//! A real browser, driven by the WebDriver protocol: as much of it as the tests say.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support;

/// How long something that is to happen may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser with one window.
pub(super) struct Browser {
    client: reqwest::Client,
    session: String,
    driver: Child,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver takes its browser along when it is asked to go; what is left goes with its group.
        #[cfg(unix)]
        let _ = Command::new("kill").args(["--", &format!("-{}", self.driver.id())]).status();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// Starts one, light or dark, so wide.
    pub(super) async fn start(base: &str, dark: bool, width: u32) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = start_driver();
        #[expect(clippy::disallowed_methods, reason = "a client of the driver, not of the world")]
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
        let args = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            // So that no name but this machine's is ever looked up.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1".to_owned(),
            "--lang=en".to_owned(),
            format!("--user-data-dir={}", profile.path().display()),
            scheme,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": args },
            "goog:loggingPrefs": { "browser": "ALL" },
            "unhandledPromptBehavior": "ignore",
        }}});
        let root = format!("http://127.0.0.1:{port}/session");
        let answer = ask(client.post(&root), Some(wanted)).await.unwrap();
        let session = format!("{root}/{}", answer["sessionId"].as_str().unwrap());
        let browser = Self { client, session, driver, _profile: profile };
        browser.resize(width).await;
        browser.go(&format!("{base}/login")).await;
        browser
    }

    /// Makes the page so wide: headless windows have a frame, pages have not.
    pub(super) async fn resize(&self, width: u32) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": metrics });
        self.post("/goog/cdp/execute", command).await.unwrap();
    }

    pub(super) async fn go(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await.unwrap();
    }

    /// What a script says; `arguments` are its values.
    pub(super) async fn eval(&self, script: &str, arguments: &[Value]) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": arguments })).await.unwrap()
    }

    /// What a script says in the end: its last argument is what it calls then.
    pub(super) async fn eval_async(&self, script: &str, arguments: &[Value]) -> Value {
        self.post("/execute/async", json!({ "script": script, "args": arguments })).await.unwrap()
    }

    /// Clicks as a person does: where it can be seen.
    pub(super) async fn click(&self, css: &str) {
        let id = self.element(css).await;
        self.post(&format!("/element/{id}/click"), json!({}))
            .await
            .unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    /// Writes into a field, in place of what was there.
    pub(super) async fn fill(&self, css: &str, text: &str) {
        let id = self.element(css).await;
        self.post(&format!("/element/{id}/clear"), json!({})).await.unwrap();
        self.post(&format!("/element/{id}/value"), json!({ "text": text })).await.unwrap();
    }

    /// Chooses a file for a field that takes one.
    pub(super) async fn choose_file(&self, css: &str, file: &std::path::Path) {
        let id = self.element(css).await;
        let text = file.display().to_string();
        self.post(&format!("/element/{id}/value"), json!({ "text": text })).await.unwrap();
    }

    /// Types keys, wherever the focus is.
    pub(super) async fn press(&self, key: &str) {
        let keys = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": keys }] });
        self.post("/actions", actions).await.unwrap();
    }

    /// The text of all that a selector finds, as people see it.
    pub(super) async fn text(&self, css: &str) -> String {
        let script = "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText).join('\\n')";
        self.eval(script, &[css.into()]).await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a selector finds something.
    pub(super) async fn until(&self, css: &str) {
        self.until_true(&format!("return document.querySelector({}) !== null", Value::from(css))).await;
    }

    /// Waits until something reads so.
    pub(super) async fn until_reads(&self, css: &str, part: &str) {
        let reads = async || self.text(css).await.contains(part).then_some(());
        let otherwise = async || format!("{css} never reads '{part}', but: {}", self.text(css).await);
        support::until(PATIENCE, reads, otherwise).await;
    }

    /// Waits until a script says true.
    pub(super) async fn until_true(&self, script: &str) {
        let is_true = async || (self.eval(script, &[]).await == Value::Bool(true)).then_some(());
        support::until(PATIENCE, is_true, async || {
            format!("never true: {script}\n{}", self.text("main").await)
        })
        .await;
    }

    /// Where it is.
    pub(super) async fn url(&self) -> String {
        self.get("/url").await.as_str().unwrap().to_owned()
    }

    /// What the console has said since it was last asked, where it is an error.
    pub(super) async fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" })).await.unwrap();
        let lines = log.as_array().into_iter().flatten();
        let severe = lines.filter(|line| line["level"] == "SEVERE");
        severe.map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Whether a page has put up a dialog, as only a script can.
    pub(super) async fn has_dialog(&self) -> bool {
        ask(self.client.get(format!("{}/alert/text", self.session)), None).await.is_ok()
    }

    async fn element(&self, css: &str) -> String {
        self.until(css).await;
        let found = self.post("/element", json!({ "using": "css selector", "value": css })).await.unwrap();
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        id.unwrap().to_owned()
    }

    async fn get(&self, path: &str) -> Value {
        ask(self.client.get(format!("{}{path}", self.session)), None).await.unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, String> {
        ask(self.client.post(format!("{}{path}", self.session)), Some(body)).await
    }
}

async fn ask(request: reqwest::RequestBuilder, body: Option<Value>) -> Result<Value, String> {
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        None => request,
    };
    let response = request.send().await.unwrap();
    let ok = response.status().is_success();
    let mut answer: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    if ok { Ok(answer["value"].take()) } else { Err(answer["value"].to_string()) }
}

/// Starts the driver on a port of its own choice, which it prints.
fn start_driver() -> (Child, u16) {
    let mut command = Command::new("chromedriver");
    command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut driver = command.spawn().expect("chromedriver; `make setup` installs it");
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let port = line.split("successfully on port ").nth(1)?.trim_end_matches('.').to_owned();
        port.parse().ok()
    });
    // What it says later must go somewhere, or it stops when the pipe is full.
    std::thread::spawn(move || lines.for_each(drop));
    (driver, port.expect("chromedriver tells its port"))
}
