//! Every spelling of refused and of allowed targets.

use super::*;

/// Hosts as written in a URL; each is a forbidden target or invalid.
#[rustfmt::skip]
const REFUSED_HOSTS: &[&str] = &[
    // Loopback, in decimal, octal, hexadecimal, short, padded, mixed, full-width and circled digits.
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001", "0x7f.1", "0177.1",
    "0177.0.0.01", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "127.255.255.254", "0X7F.0.0.1", "00000177.0.0.1",
    "127.0.0x1", "127.00.00.01", "１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1",
    "127｡0｡0｡1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "1\u{ad}27.0.0.1", "127.8.8.8",
    // This network.
    "0", "0.0.0.0", "0x0", "00", "0.1.2.3", "0.0.0.0.",
    // Private.
    "10.0.0.1", "10.1", "167772161", "0xa000001", "012.0.0.1", "0xa.0.0.1", "10.255.255.255", "172.16.0.1",
    "172.31.255.255", "0xac100001", "2886729729", "192.168.0.1", "192.168.1", "0xc0a80001", "3232235521",
    "0300.0250.0.1", "192.168.255.255",
    // Link-local, and cloud metadata services.
    "169.254.169.254", "169.254.1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
    "0xa9.0xfe.0xa9.0xfe", "169.254.43518", "169.16689662", "169.254.0.0", "169.254.170.2",
    "100.100.100.200", "192.0.0.192",
    // Carriers, protocols, documentation, benchmarks, tunnels, multicast, reserved, broadcast.
    "100.64.0.1", "100.127.255.255", "0x64400001", "192.0.0.1", "192.0.0.9", "192.0.2.1", "192.31.196.1",
    "192.52.193.1", "192.88.99.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
    "203.0.113.255", "224.0.0.1", "233.252.0.1", "239.255.255.250", "240.0.0.1", "254.1.2.3",
    "255.255.255.255", "4294967295", "0xffffffff", "037777777777",
    // IPv6: unspecified, loopback, in short and in full.
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0001]", "[0::1]",
    "[::0:1]", "[0:0:0:0:0:0:0:0]", "[::0.0.0.1]",
    // Mapped, compatible and translated IPv4, including public ones, which are refused because of their form.
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::FFFF:7F00:0001]",
    "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::ffff:0.0.0.0]",
    "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[::7f00:1]", "[::10.0.0.1]", "[::8.8.8.8]",
    "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::8.8.8.8]", "[64:ff9b:1::1]", "[64:ff9b:1:ffff::10.0.0.1]", "[64:ff9b:2::1]",
    // 6to4 and Teredo.
    "[2002::]", "[2002:7f00:1::]", "[2002:7f00:0001::1]", "[2002:a00:1::]", "[2002:a9fe:a9fe::]",
    "[2002:c0a8:1::1]", "[2002:808:808::1]", "[2001::]", "[2001:0:7f00:1::]",
    "[2001:0:808:808:0:0:80ff:fffe]", "[2001:0000:4136:e378:8000:63bf:3fff:fdd2]",
    // All other reserved ranges.
    "[fe80::1]", "[febf::1]", "[fec0::1]", "[feff::1]", "[fc00::1]", "[fd00::1]", "[fd00:ec2::254]",
    "[fdff:ffff::1]", "[ff00::]", "[ff02::1]", "[ff0e::1]", "[100::1]", "[100:0:0:1::1]", "[2001:2::1]",
    "[2001:10::1]", "[2001:20::1]", "[2001:1ff::1]", "[2001:db8::1]", "[3ffe::1]", "[3fff::1]",
    "[3fff:fff::1]", "[5f00::1]", "[2620:4f:8000::1]", "[4000::1]", "[e000::1]", "[::2]", "[1::1]",
    "[1fff::1]",
    // This machine by name.
    "localhost", "LOCALHOST", "localhost.", "localhost..", "LocalHost", "foo.localhost", "a.b.localhost.",
    "ｌｏｃａｌｈｏｓｔ", "loc\u{ad}alhost", "%6cocalhost",
    // Invalid hosts, or hosts with a zone identifier.
    "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%lo]", "[::1", "::1", "[127.0.0.1]", "[::ffff:127.0.0.1.]",
    "256.256.256.256", "1.2.3.4.5", "0x100000000", "4294967296", "127.0.0.256", "0x7f.0.0.0x1ff",
    "08.0.0.1", "a b", "a\u{0}b", "a<b", "a%00b", "[::g]", "[1::2::3]",
];

/// URLs refused for another reason than their host, or that a careless parser would send to another host.
#[rustfmt::skip]
const REFUSED_URLS: &[&str] = &[
    "ftp://a.example/", "file:///etc/passwd", "gopher://a.example/", "data:text/plain,x", "javascript:1",
    "ws://a.example/", "feed://a.example/", "mailto:a@a.example", "unix:/run/x.sock", "about:blank",
    "view-source:http://a", "http://user@a.example/", "http://user:word@a.example/",
    "http://:word@a.example/", "http://a.example@127.0.0.1/", "http://127.0.0.1#@a.example/",
    "http://127.0.0.1?@a.example/", "http://a.example@b.example@127.0.0.1/",
    "http://127.0.0.1\\@a.example/", "http:\\\\127.0.0.1\\", "http:/127.0.0.1/", "http:127.0.0.1",
    "http:///127.0.0.1/", "http://\t127.0.0.1/", "http://12\n7.0.0.1/", " http://127.0.0.1/ ",
    "HTTP://127.0.0.1/", "https://127.0.0.1:443/", "http://127.0.0.1:80", "http://127.0.0.1:/",
    "http://127.0.0.1:065535/", "http://a.example:0/", "http://a.example:1/", "http://a.example:22/",
    "http://a.example:25/", "http://a.example:53/", "http://a.example:110/", "http://a.example:143/",
    "http://a.example:465/", "http://a.example:587/", "http://a.example:2049/", "http://a.example:5060/",
    "http://a.example:6000/", "http://a.example:6667/", "http://a.example:6697/", "http://a.example:10080/",
    "https://a.example:25/", "http://a.example:65536/", "http://a.example:-1/", "http://a.example:8o/",
];

#[rustfmt::skip]
const ALLOWED_URLS: &[&str] = &[
    "http://a.example/", "https://a.example/feed?x=1#y", "http://a.example:8080/",
    "https://a.example:8443/", "http://a.example:3000/", "http://a.example:81/", "http://a.example:65535/",
    "http://8.8.8.8/", "https://1.1.1.1/", "http://134744072/", "http://0x8.8.8.8/",
    "http://9.255.255.255/", "http://11.0.0.1/", "http://100.63.255.255/", "http://100.128.0.1/",
    "http://126.255.255.255/", "http://128.0.0.1/", "http://169.253.255.255/", "http://169.255.0.1/",
    "http://172.15.255.255/", "http://172.32.0.1/", "http://192.0.1.1/", "http://192.167.1.1/",
    "http://192.169.1.1/", "http://198.17.255.255/", "http://198.20.0.1/", "http://223.255.255.255/",
    "http://[2606:4700:4700::1111]/", "http://[2a00:1450::1]/", "http://[2001:200::1]/",
    "http://[2001:4860::8888]/", "http://[2003::1]/", "http://[2400::1]/", "http://[3ffd::1]/",
    "http://intranet/", "http://service.internal/", "http://localhost.example/", "http://mylocalhost/",
    "http://münchen.example/", "http://127.0.0.1.nip.example/", "http://a_b.example/",
];

/// Whether a URL is valid and allowed.
fn is_allowed(text: &str, allow: &AllowedNetworks) -> bool {
    Url::parse(text).is_ok_and(|url| check_url(&url, allow).is_ok())
}

#[test]
fn no_spelling_of_a_private_target_passes() {
    assert!(REFUSED_HOSTS.len() + REFUSED_URLS.len() >= 220, "{}", REFUSED_HOSTS.len() + REFUSED_URLS.len());
    let urls = REFUSED_HOSTS.iter().map(|host| format!("http://{host}/feed"));
    let through: Vec<String> = urls
        .chain(REFUSED_URLS.iter().map(ToString::to_string))
        .filter(|url| is_allowed(url, &AllowedNetworks::default()))
        .collect();
    assert_eq!(through, [""; 0]);
}

#[test]
fn the_public_internet_is_allowed() {
    let refused: Vec<&&str> =
        ALLOWED_URLS.iter().filter(|url| !is_allowed(url, &AllowedNetworks::default())).collect();
    assert_eq!(refused, [&""; 0]);
}

#[test]
fn relative_redirect_targets_are_checked() {
    let base = Url::parse("https://a.example/feed").unwrap();
    for location in
        ["//127.0.0.1/", "http://[::1]/", "\\\\10.0.0.1\\", "///169.254.169.254/", "ftp://a.example/"]
    {
        let target = base.join(location).map(String::from).unwrap_or_default();
        assert!(!is_allowed(&target, &AllowedNetworks::default()), "{location} is {target}");
    }
}

#[test]
fn only_configured_networks_are_allowed() {
    let allow =
        AllowedNetworks::new(["10.1.0.0/16", "fd00::/8", "64:ff9b::/96"].map(|text| text.parse().unwrap()));
    let check = |url, open| assert_eq!(is_allowed(url, &allow), open, "{url}");
    check("http://10.1.2.3/", true);
    check("http://10.2.2.3/", false);
    check("http://[fd00::1]/", true);
    check("http://[fc00::1]/", false);
    check("http://[::ffff:10.1.2.3]/", true);
    check("http://[::ffff:10.2.2.3]/", false);
    check("http://[64:ff9b::8.8.8.8]/", true);
    check("http://[64:ff9b::10.1.2.3]/", true);
    check("http://[64:ff9b::10.2.2.3]/", false);
    check("http://[2002:a01:203::]/", false);
    check("http://10.1.2.3:22/", false);
    check("http://localhost/", false);
    let loopback = AllowedNetworks::new(["127.0.0.0/8".parse().unwrap()]);
    assert!(is_allowed("http://localhost/", &loopback) && is_allowed("http://a.localhost/", &loopback));
}

#[test]
fn embedded_ipv4_addresses_are_found() {
    let check = |text: &str, v4: Option<&str>| {
        let found = embedded_ipv4(text.parse().unwrap());
        assert_eq!(found, v4.map(|v4| v4.parse().unwrap()), "{text}");
    };
    check("::ffff:10.1.2.3", Some("10.1.2.3"));
    check("::10.1.2.3", Some("10.1.2.3"));
    check("64:ff9b::10.1.2.3", Some("10.1.2.3"));
    check("2002:a01:203::1", Some("10.1.2.3"));
    check("2001:0:4136:e378:8000:63bf:f5fe:fdfc", Some("10.1.2.3"));
    check("2606:4700::1", None);
    check("fe80::1", None);
}

#[test]
fn special_ranges_are_refused_to_their_ends() {
    for (base, length, _) in SPECIAL_V4 {
        let size = u32::MAX.checked_shr(length).unwrap_or(0);
        for ip in [base, base + size / 2, base + size] {
            assert!(!is_public(Ipv4Addr::from(ip).into()), "{}", Ipv4Addr::from(ip));
        }
    }
    for (base, length, _) in SPECIAL_V6 {
        let size = u128::MAX.checked_shr(length).unwrap_or(0);
        for ip in [base, base + size / 2, base + size] {
            assert!(!is_public(Ipv6Addr::from(ip).into()), "{}", Ipv6Addr::from(ip));
        }
    }
}

#[test]
fn reasons_are_readable() {
    let check = |url: &str, why: &str| {
        let refused = check_url(&Url::parse(url).unwrap(), &AllowedNetworks::default()).unwrap_err();
        assert_eq!(refused.to_string(), why);
    };
    check("http://2130706433/", "127.0.0.1 is this machine");
    check("http://[::ffff:a00:1]/", "::ffff:10.0.0.1 is a mapped IPv4 address");
    check("http://169.254.169.254/", "169.254.169.254 is link-local");
    check("http://[4000::]/", "4000:: is not a public address");
    check("http://localhost/", "localhost is this machine");
    check("http://me:hunter2@a.example/?token=x", "the URL has credentials in it");
    check("https://a.example:22/", "port 22 is not for the web");
    check("ftp://a.example/", "the scheme ftp is neither http nor https");
}

#[test]
fn the_ports_are_sorted() {
    assert!(BLOCKED_PORTS.is_sorted());
}
