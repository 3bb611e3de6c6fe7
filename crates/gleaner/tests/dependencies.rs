//! What comes in with dependencies, by the lists of `deny.toml`: licences, bans, wildcards, sources and second copies. For
//! every test run; `make deny` has cargo-deny look at the same lists, and at known vulnerabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What `deny.toml` allows and forbids.
struct Rules {
    licences: BTreeSet<String>,
    banned: BTreeSet<String>,
    refuses_copies: bool,
}

impl Rules {
    fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deny.toml");
        let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        let texts = |value: &toml::Value| -> BTreeSet<String> {
            let name = |one: &toml::Value| one.get("name").unwrap_or(one).as_str().unwrap().to_owned();
            value.as_array().unwrap().iter().map(name).collect()
        };
        assert_eq!(table["sources"]["unknown-registry"].as_str(), Some("deny"));
        assert_eq!(table["sources"]["unknown-git"].as_str(), Some("deny"));
        assert_eq!(table["bans"]["wildcards"].as_str(), Some("deny"));
        Self {
            licences: texts(&table["licenses"]["allow"]),
            banned: texts(&table["bans"]["deny"]),
            refuses_copies: table["bans"]["multiple-versions"].as_str() == Some("deny"),
        }
    }

    /// Whether an SPDX expression can be met with what is allowed.
    fn allows(&self, expression: &str) -> bool {
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = words.as_slice();
        let allowed = self.any_of(&mut rest);
        assert!(rest.is_empty(), "{expression} cannot be read from {rest:?} on");
        allowed
    }

    fn any_of(&self, words: &mut &[&str]) -> bool {
        let mut allowed = self.all_of(words);
        while let ["OR", rest @ ..] = *words {
            *words = rest;
            // Both sides are read, whatever the first one says.
            allowed |= self.all_of(words);
        }
        allowed
    }

    fn all_of(&self, words: &mut &[&str]) -> bool {
        let mut allowed = self.one(words);
        while let ["AND", rest @ ..] = *words {
            *words = rest;
            allowed &= self.one(words);
        }
        allowed
    }

    fn one(&self, words: &mut &[&str]) -> bool {
        match *words {
            ["(", rest @ ..] => {
                *words = rest;
                let allowed = self.any_of(words);
                assert_eq!(words.first(), Some(&")"), "a bracket is not closed");
                *words = &words[1..];
                allowed
            }
            [licence, "WITH", exception, rest @ ..] => {
                *words = rest;
                self.licences.contains(&format!("{licence} WITH {exception}"))
            }
            [licence, rest @ ..] => {
                *words = rest;
                self.licences.contains(*licence)
            }
            [] => false,
        }
    }

    /// Everything that is wrong with a workspace, as `cargo metadata` tells it.
    fn violations(&self, metadata: &Value) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let members: BTreeSet<&str> =
            metadata["workspace_members"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let mut wrong = Vec::new();
        let mut registries = BTreeSet::new();
        let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in metadata["packages"].as_array().unwrap() {
            let (name, version) = (text(&package["name"]), text(&package["version"]));
            let which = format!("{name} {version}");
            if members.contains(package["id"].as_str().unwrap()) {
                for dependency in package["dependencies"].as_array().unwrap() {
                    if dependency["req"] == "*" && dependency["path"].is_null() {
                        wrong.push(format!("{which}: any version of {} would do", dependency["name"]));
                    }
                }
                continue;
            }
            match package["source"].as_str() {
                Some(source) if source.starts_with("registry+") => {
                    registries.insert(source.to_owned());
                }
                source => wrong.push(format!("{which}: comes from {source:?}, and not from the registry")),
            }
            match package["license"].as_str() {
                Some(licence) if self.allows(licence) => {}
                licence => wrong.push(format!("{which}: its licence {licence:?} is not among those allowed")),
            }
            if self.banned.contains(&name) {
                wrong.push(format!("{which}: is banned"));
            }
            versions.entry(name).or_default().insert(version);
        }
        if registries.len() > 1 {
            wrong.push(format!("packages come from several registries: {registries:?}"));
        }
        let copies = versions.into_iter().filter(|(_, versions)| self.refuses_copies && versions.len() > 1);
        wrong.extend(copies.map(|(name, versions)| format!("{name}: is there in versions {versions:?}")));
        wrong
    }
}

#[test]
fn dependencies_are_as_deny_toml_says() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let told = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
            "--manifest-path",
            manifest,
        ])
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let metadata: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(metadata["packages"].as_array().unwrap().len() > 100);
    let wrong = Rules::read().violations(&metadata);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_deny_toml_forbids_is_found() {
    let rules = Rules { refuses_copies: true, ..Rules::read() };
    for allowed in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
        assert!(rules.allows(allowed), "{allowed}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "MIT WITH Bison-exception-2.2", "(GPL-3.0)", ""] {
        assert!(!rules.allows(refused), "{refused}");
    }
    let package = |name: &str, version: &str, source: Option<&str>, licence: Option<&str>| {
        serde_json::json!({ "id": format!("{name} {version}"), "name": name, "version": version,
            "source": source, "license": licence, "dependencies": [] })
    };
    let registry = Some("registry+https://registry.example/index");
    let own = serde_json::json!({ "id": "own 1", "name": "own", "version": "1", "source": null, "license": null,
        "dependencies": [{ "name": "anything", "req": "*", "path": null }, { "name": "other", "req": "*", "path": "/x" }] });
    let metadata = serde_json::json!({ "workspace_members": ["own 1"], "packages": [
        own,
        package("good", "1.0.0", registry, Some("MIT")),
        package("good", "2.0.0", registry, Some("MIT")),
        package("from-git", "1.0.0", Some("git+https://git.example/x"), Some("MIT")),
        package("elsewhere", "1.0.0", Some("registry+https://other.example/index"), Some("MIT")),
        package("unlicensed", "1.0.0", registry, None),
        package("openssl-sys", "0.9.0", registry, Some("MIT")),
    ] });
    let wrong = rules.violations(&metadata);
    let beginnings =
        ["own 1: any version", "from-git 1.0.0: comes", "unlicensed 1.0.0: its licence", "openssl-sys 0.9.0"];
    for beginning in
        beginnings.into_iter().chain(["packages come from several", "good: is there in versions"])
    {
        assert_eq!(
            wrong.iter().filter(|line| line.starts_with(beginning)).count(),
            1,
            "{beginning}: {wrong:#?}"
        );
    }
    assert_eq!(wrong.len(), 6, "{wrong:#?}");
}
