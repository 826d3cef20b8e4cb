//! The configs of `docs/proxies.md` behind the real proxies, with hostile clients.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use support::Serving;
use tollgate_fixtures::WebProxy;

const DOCUMENT: &str = include_str!("../../../docs/proxies.md");

/// Returns the blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let block = |rest: &'static str| rest.split_once("\n```").unwrap().0;
    DOCUMENT.split(&format!("```{language}\n")).skip(1).map(block).collect()
}

/// Tollgate with the policy of the document, but for less.
fn tollgate(folder: &tempfile::TempDir, more: &str) -> Serving {
    let config = blocks("toml").concat();
    let strict = config.replace("gcra 10/s burst 20", "fixed-window 2/year");
    assert_ne!(config, strict);
    let strict = format!("{strict}\n{more}\n");
    let path = folder.path().join("tollgate.toml");
    std::fs::write(&path, strict).unwrap();
    Serving::start(&["--config", path.to_str().unwrap()])
}

/// Starts the app behind the proxy, which answers `ban` to a client that is denied silently. It ends with the test.
fn app() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 65_536];
            let length = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
            let mut silenced =
                request.lines().filter_map(|line| line.strip_prefix("tollgate-silenced:"));
            let body = match (silenced.next().map(str::trim), silenced.next()) {
                (None, _) => "app",
                (Some("1"), None) => "ban",
                _ => "odd",
            };
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(format!("{head}{body}\n").as_bytes());
        }
    });
    port
}

/// Returns the config with the addresses of this test.
fn on_ports(config: &str, tollgate: &str, app: u16, port: u16) -> String {
    let config = config.replace("127.0.0.1:8080", tollgate);
    let config = config.replace("127.0.0.1:3000", &format!("127.0.0.1:{app}"));
    let config = config.replace("listen 8000", &format!("listen 127.0.0.1:{port}"));
    config.replace(":8000 {", &format!("http://127.0.0.1:{port} {{"))
}

/// Sends a request. Returns its status, and the whole response in lower case.
fn send(proxy: &WebProxy, target: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    let (host, length) = (proxy.port(), body.len());
    let request = format!(
        "POST {target} HTTP/1.1\r\nhost: 127.0.0.1:{host}\r\nconnection: close\r\ncontent-length: {length}\r\n\
         {headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let response = String::from_utf8_lossy(&response).to_lowercase();
    (response.get(9..12).and_then(|status| status.parse().ok()).unwrap(), response)
}

/// What a client adds to change the check of its key.
const TRICKS: [(&str, &str); 10] = [
    ("/", ""),
    ("/?peek=1&cost=0&factor=0&policy=other&deny_status=200", ""),
    ("/?end&key=b&key.ip=b", ""),
    ("/%26peek=1?%65nd", ""),
    ("/", "Tollgate-Key: b\r\n"),
    ("/", "tollgate-key: b\r\nTOLLGATE-KEY: c\r\n"),
    ("/", "Tollgate-Key-: b\r\n"),
    ("/", "Tollgate-Key-Ip: b\r\nTollgate-Policy: other\r\n"),
    ("/", "X-Original-URI: /check?peek=1\r\nX-Forwarded-Uri: /?peek=1&end\r\n"),
    ("/_limit?peek=1", ""),
];

/// Keys that would be more than a key in a URL.
const KEYS: [&str; 12] = [
    "a&peek=1",
    "a&cost=0",
    "a&factor=0",
    "a&key=b",
    "a&end",
    "a#b",
    "a%26cost=0",
    "a%0d%0acost: 0",
    "a\"b",
    "a, b",
    "$remote_addr",
    "{remote_host}",
];

/// Asserts that a client of which two requests pass gets no third one, whatever it adds to it.
fn holds(proxy: &WebProxy, key: &str) {
    let header = if key.is_empty() { String::new() } else { format!("X-Api-Key: {key}\r\n") };
    for expected in [200, 200] {
        let (status, response) = send(proxy, "/", &header, "a body");
        assert_eq!(status, expected, "{key}: {response}");
        assert!(response.ends_with("app\n"), "{response}");
    }
    for (target, headers) in TRICKS {
        let (status, response) = send(proxy, target, &format!("{header}{headers}"), "a body");
        // The place of the check itself is not for clients.
        let expected = [429, if target.starts_with("/_limit") { 404 } else { 429 }];
        assert!(expected.contains(&status), "{key}: {target} {headers}: {response}");
        if status == 429 {
            assert!(response.contains("\r\nretry-after: "), "{response}");
            assert!(response.contains("\r\nratelimit: \"api\";r=0;"), "{response}");
            assert!(response.contains("\r\ncontent-type: application/problem+json"), "{response}");
        }
    }
}

/// Asserts that a client over the limit sees no difference, that the app learns of it, and that no client can be taken
/// for such a one.
fn bans_silently(proxy: &WebProxy) {
    let forged = send(proxy, "/", "Tollgate-Silenced: 1\r\n", "").1;
    let plain = send(proxy, "/", "", "").1;
    let banned = send(proxy, "/", "", "").1;
    let but_for_the_date = |response: &str| {
        response.lines().filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\n")
    };
    assert!(forged.ends_with("app\n") && plain.ends_with("app\n"), "{forged} {plain}");
    assert!(banned.ends_with("ban\n"), "{banned}");
    assert_eq!(but_for_the_date(&plain).replace("app", "ban"), but_for_the_date(&banned));
    assert!(!banned.contains("ratelimit") && !banned.contains("silenced"), "{banned}");
}

const SILENT: &str = "enforce = \"silent\"";

#[test]
fn behind_nginx_a_silent_denial_reaches_the_app_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, app) = (tollgate(&folder, SILENT), app());
    let config = blocks("nginx").concat();
    let nginx = WebProxy::nginx(|port| on_ports(&config, serving.http(), app, port));
    nginx.iter().for_each(bans_silently);
}

#[test]
fn behind_caddy_a_silent_denial_reaches_the_app_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, app) = (tollgate(&folder, SILENT), app());
    let config = blocks("caddyfile")[0];
    let caddy = WebProxy::caddy(|port| on_ports(config, serving.http(), app, port));
    caddy.iter().for_each(bans_silently);
}

#[test]
fn behind_nginx_no_client_changes_its_check() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, app) = (tollgate(&folder, ""), app());
    let config = blocks("nginx").concat();
    let nginx = WebProxy::nginx(|port| on_ports(&config, serving.http(), app, port));
    let Some(nginx) = nginx else { return };
    // Without an API key the address is the key, and so it is with one that is too long.
    holds(&nginx, "");
    assert_eq!(send(&nginx, "/", &format!("X-Api-Key: {}\r\n", "a".repeat(201)), "").0, 429);
    for key in KEYS {
        holds(&nginx, key);
    }
    // Without an answer, requests pass.
    drop(serving);
    assert_eq!(send(&nginx, "/", "", "").0, 200);
}

#[test]
fn behind_caddy_no_client_changes_its_check() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, app) = (tollgate(&folder, ""), app());
    let [config, by_api_key] = blocks("caddyfile")[..] else { panic!("expected two blocks") };
    let start = |config: &str| WebProxy::caddy(|port| on_ports(config, serving.http(), app, port));
    let Some(by_address) = start(config) else { return };
    holds(&by_address, "");
    let line = config.lines().find(|line| line.contains("Tollgate-Key")).unwrap();
    let Some(by_api_key) = start(&config.replace(line, by_api_key)) else { return };
    for key in KEYS {
        holds(&by_api_key, key);
    }
}
