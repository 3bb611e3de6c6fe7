//! `key`, timelines by `add`, and what `try` says of robots.txt, from outside.

use std::io::Write as _;
use std::process::Stdio;

use super::Place;
use crate::support::http::{Reply, Server};

fn place() -> Place {
    Place::with_config("[fetch]\nallow_private_networks = [\"127.0.0.0/8\"]\n[store]\nurl = \"gleaner.db\"\n")
}

/// Runs gleaner with this on its standard input: its exit code, output and complaints.
async fn run(place: &Place, args: &[&str], input: &str) -> (i32, String, String) {
    let mut command = place.command(&[&["--config", "gleaner.toml"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = input.to_owned();
    let output = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    let output = output.await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn a_key_is_set_and_never_shown() {
    let place = place();
    let shown = run(&place, &["key", "show", "x"], "").await;
    assert_eq!((shown.0, shown.1.as_str()), (0, "admin has no key for x\n"), "{}", shown.2);
    let set = run(&place, &["key", "set", "x"], "hunter2-hunter2\n").await;
    assert_eq!(
        set,
        (0, "admin's key for x is set; 0 sources that waited for it are due\n".into(), String::new())
    );
    let shown = run(&place, &["key", "show", "x"], "").await;
    assert_eq!(shown, (0, "admin has a key for x\n".into(), String::new()));
    let database = std::fs::read(place.path().join("gleaner.db")).unwrap();
    assert!(!database.windows(7).any(|bytes| bytes == b"hunter2"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = place.path().join("gleaner.db.key");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let refused = run(&place, &["key", "set", "x"], "another").await;
        assert_eq!(refused.0, 1);
        assert!(
            refused.2.contains("gleaner.db.key can be read by others (mode 644): `chmod 600 "),
            "{}",
            refused.2
        );
    }
    let removed = run(&place, &["key", "remove", "x"], "").await;
    assert_eq!(removed, (0, "admin's key for x is removed\n".into(), String::new()));
    for (args, words) in [
        (&["key", "set", "y"][..], "'y' is no service that takes a key; there are x"),
        (&["key", "set", "x"], "a key is up to 4096 letters"),
        (&["key", "show", "x", "--user", "nobody"], "user nobody does not exist"),
    ] {
        let (code, _, err) = run(&place, args, " \n").await;
        assert!(code > 0 && err.contains(words), "{err}");
    }
}

#[tokio::test]
async fn timelines_are_added_by_handle() {
    let place = place();
    let added = run(&place, &["add", "@NASA"], "").await;
    assert!(added.1.starts_with("added https://x.com/nasa as source 1;"), "{added:?}");
    let (_, listed, _) = run(&place, &["list", "--json"], "").await;
    let value: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(value["kind"], "x");
    let wrong = run(&place, &["add", "--kind", "twitter", "https://x.com/home"], "").await;
    assert_eq!(wrong.0, 2);
    assert!(wrong.2.contains("a timeline on X is written as @handle or https://x.com/handle"), "{}", wrong.2);
    let tried = run(&place, &["try", "x.com/nasa"], "").await;
    assert!(tried.0 == 2 && tried.2.contains("can be read only with its owner's key"), "{}", tried.2);
}

#[tokio::test]
async fn try_says_where_robots_txt_refuses_a_page() {
    let (place, server) = (place(), Server::start().await);
    server.on("/robots.txt", Reply::ok("User-agent: gleaner\nDisallow: /"));
    server.on(
        "/",
        Reply::ok("<html><link rel=alternate type='application/rss+xml' href='/feed.xml'><p>Hello</html>"),
    );
    server.on("/bare", Reply::ok("<html><p>Hello</html>"));
    server.on("/feed.xml", Reply::ok("<rss version='2.0'><channel><title>News</title></channel></rss>"));
    let refusal = "as a page it is not polled: blocked: robots.txt of 127.0.0.1 disallows it";
    let page = run(&place, &["try", server.url("/").as_str()], "").await;
    assert!(
        page.0 == 0 && page.1.contains(&format!("0 of 1 entries would be stored; {refusal}")),
        "{page:?}"
    );
    let bare = run(&place, &["try", server.url("/bare").as_str()], "").await;
    assert!(bare.0 == 0 && bare.1.contains(&format!("note: {refusal}")), "{bare:?}");
    assert!(bare.1.contains("1 entry, 0 would be stored"), "{bare:?}");
    let feed = run(&place, &["try", server.url("/feed.xml").as_str()], "").await;
    assert!(feed.0 == 0 && !feed.1.contains("robots"), "{feed:?}");
}
