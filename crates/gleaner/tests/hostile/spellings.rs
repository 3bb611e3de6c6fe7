//! Every spelling that we know of where gleaner must not go, all of them at one port.
//!
//! 127.1.0.0/16 is not among them: in these tests it stands for the internet.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Where nobody is let in, and where some of those who try are waited for: this machine, this network, private ones,
/// where clouds keep their secrets, carriers, multicast, broadcast.
const TARGETS: [[u8; 4]; 17] = [
    [127, 0, 0, 1],
    [127, 0, 0, 53],
    [127, 255, 255, 254],
    [0, 0, 0, 0],
    [0, 1, 2, 3],
    [10, 0, 0, 1],
    [10, 255, 255, 255],
    [172, 16, 0, 1],
    [172, 31, 255, 254],
    [192, 168, 0, 1],
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [100, 64, 0, 1],
    [100, 100, 100, 200],
    [198, 18, 0, 1],
    [224, 0, 0, 251],
    [255, 255, 255, 255],
];

/// One address as resolvers, browsers and tunnels spell it.
fn spelled([a, b, c, d]: [u8; 4]) -> Vec<String> {
    let whole = u32::from(Ipv4Addr::new(a, b, c, d));
    let (high, low) = (whole >> 16, whole & 0xffff);
    let other = |digits: [char; 10], text: String| -> String {
        text.chars().map(|c| c.to_digit(10).map_or(c, |digit| digits[digit as usize])).collect()
    };
    let wide = ['０', '１', '２', '３', '４', '５', '６', '７', '８', '９'];
    let circled = ['⓪', '①', '②', '③', '④', '⑤', '⑥', '⑦', '⑧', '⑨'];
    let dotted = format!("{a}.{b}.{c}.{d}");
    let flipped = !whole;
    vec![
        dotted.clone(),
        format!("{dotted}."),
        format!("{whole}"),
        format!("0x{whole:x}"),
        format!("0X{whole:08X}"),
        format!("0{whole:o}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0000{a:o}.{b}.{c}.{d}"),
        format!("{a}.{}", whole & 0xff_ffff),
        format!("{a}.{b}.{low}"),
        format!("0x{a:x}.{b}.0{c:o}.{d}"),
        other(wide, dotted.clone()),
        other(circled, dotted.clone()),
        dotted.replace('.', "。"),
        dotted.replace('.', "．"),
        dotted.replace('.', "%2E"),
        format!("{}\u{ad}.{b}.{c}.{d}", a),
        format!("[::ffff:{dotted}]"),
        format!("[::FFFF:{high:x}:{low:x}]"),
        format!("[0:0:0:0:0:ffff:{dotted}]"),
        format!("[::{dotted}]"),
        format!("[::ffff:0:{dotted}]"),
        format!("[64:ff9b::{dotted}]"),
        format!("[64:ff9b:1::{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:4136:e378:8000:63bf:{:x}:{:x}]", flipped >> 16, flipped & 0xffff),
        format!("[fe80::5efe:{dotted}]"),
    ]
}

/// What is no spelling of an IPv4 address: addresses that are set aside, names of this machine, no hosts at all.
#[rustfmt::skip]
const HOSTS: &[&str] = &[
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0001]", "[0::1]",
    "[0:0:0:0:0:0:0:0]", "[::0.0.0.1]", "[::2]", "[fe80::1]", "[febf::1]", "[fec0::1]", "[fc00::1]",
    "[fd00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[fdff:ffff::1]", "[ff01::1]", "[ff02::1]",
    "[ff02::fb]", "[ff0e::1]", "[100::1]", "[2001:2::1]", "[2001:10::1]", "[2001:20::1]", "[2001:db8::1]",
    "[3fff::1]", "[5f00::1]", "[3ffe::1]", "[4000::1]", "[e000::1]", "[1::1]", "[2002::]", "[2001::]",
    "[64:ff9b::]", "[64:ff9b::8.8.8.8]", "[::ffff:8.8.8.8]", "[2002:808:808::1]", "[::8.8.8.8]",
    "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.51.100.7", "203.0.113.7", "233.252.0.1", "240.0.0.1",
    "localhost", "LOCALHOST", "localhost.", "LocalHost", "a.localhost", "a.b.localhost.", "ｌｏｃａｌｈｏｓｔ",
    "loc\u{ad}alhost", "%6cocalhost", "localhoſt", "loca%6c%68ost.",
    "[fe80::1%25eth0]", "[::1%lo]", "[::1%25lo]", "[::1", "::1", "[127.0.0.1]", "[::ffff:127.0.0.1.]",
    "256.256.256.256", "1.2.3.4.5", "0x100000000", "4294967296", "127.0.0.256", "0x7f.0.0.0x1ff", "08.0.0.1",
    "a b", "a<b", "a%00b", "[::g]", "[1::2::3]", "127.0.0.1%", "%zz", "a|b", "^",
];

/// Whole URLs, `PORT` standing for the port: other schemes, credentials, ports that are not for the web, and all that
/// one parser takes for another host than the next does.
#[rustfmt::skip]
const URLS: &[&str] = &[
    "ftp://127.0.0.1:PORT/", "file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1:PORT/_x",
    "dict://127.0.0.1:PORT/x", "ldap://127.0.0.1:PORT/", "data:text/xml,<rss/>", "javascript:fetch(1)",
    "ws://127.0.0.1:PORT/", "feed://127.0.0.1:PORT/", "unix:/run/x.sock", "about:blank", "jar:http://127.0.0.1!/",
    "view-source:http://127.0.0.1:PORT/", "mailto:a@a.example", "blob:http://127.0.0.1:PORT/x",
    "http://me@127.0.0.1:PORT/", "http://me:hunter2@127.0.0.1:PORT/", "http://:hunter2@127.0.0.1:PORT/",
    "http://me:hunter2@a.example/", "http://a.example@127.0.0.1:PORT/",
    "http://a.example:80@127.0.0.1:PORT/", "http://a@b@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT#@a.example/", "http://127.0.0.1:PORT?@a.example/",
    "http://127.0.0.1:PORT\\@a.example/", "http://127.0.0.1:PORT\\.a.example/",
    "http://a.example%2f@127.0.0.1:PORT/", "http://a.example%40127.0.0.1:PORT/",
    "http:\\\\127.0.0.1:PORT\\", "http:/127.0.0.1:PORT/", "http:127.0.0.1:PORT", "http:///127.0.0.1:PORT/",
    "http:////127.0.0.1:PORT/", "http://\t127.0.0.1:PORT/", "http://12\n7.0.0.1:PORT/",
    " http://127.0.0.1:PORT/ ", "\u{0}http://127.0.0.1:PORT/", "ht\ntp://127.0.0.1:PORT/", "HTTP://127.0.0.1:PORT/",
    "hTTps://127.0.0.1:PORT/", "https://[::1]:PORT/", "https://localhost:PORT/feed?x#y", "https://169.254.169.254/latest/meta-data/",
    "http://169.254.169.254/computeMetadata/v1/?recursive=true", "http://100.100.100.200/latest/meta-data/",
    "http://192.0.0.192/opc/v1/instance/", "http://[fd00:ec2::254]/latest/meta-data/",
    "http://a.example:0/", "http://a.example:22/", "http://a.example:25/", "http://a.example:6379@127.0.0.1:PORT/",
    "http://a.example:587/", "http://a.example:6000/", "https://a.example:993/", "http://a.example:6667/",
    "http://a.example:65536/", "http://a.example:-1/", "http://a.example:8o/", "http://127.0.0.1:PORT:80/",
    "http://", "http://:PORT/",
];

/// All of them, each once.
pub(super) fn all(port: u16) -> Vec<String> {
    let at = |host: &str| format!("http://{host}:{port}/feed");
    let addresses = TARGETS.into_iter().flat_map(spelled).map(|host| at(&host));
    let hosts = HOSTS.iter().map(|host| at(host));
    let urls = URLS.iter().map(|url| url.replace("PORT", &port.to_string()));
    let all: BTreeSet<String> = addresses.chain(hosts).chain(urls).collect();
    assert!(all.len() >= 300, "{} spellings", all.len());
    all.into_iter().collect()
}

/// The same without those that a browser, too, takes for a path on the server that it meets them at.
pub(super) fn in_documents(port: u16) -> Vec<String> {
    let mut all = all(port);
    all.retain(|url| !url.starts_with("http:127") && !url.starts_with("http:/127") && !url.contains('\0'));
    all
}

/// The same without those that no header can carry.
pub(super) fn in_headers(port: u16) -> Vec<String> {
    let mut all = in_documents(port);
    all.retain(|url| !url.contains('\n'));
    all
}
