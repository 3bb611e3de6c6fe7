use super::decode;

fn check(bytes: &[u8], content_type: Option<&str>, text: &str, encoding: &str, repaired: bool) {
    let decoded = decode(bytes, content_type);
    let found = (decoded.text.as_ref(), decoded.encoding, decoded.repaired);
    assert_eq!(found, (text, encoding, repaired), "{bytes:?}");
}

#[test]
fn byte_order_mark_takes_precedence() {
    check(b"\xef\xbb\xbf<a>\xc3\xa9", Some("text/xml; charset=iso-8859-1"), "<a>\u{e9}", "UTF-8", false);
    check(b"\xff\xfe<\0\xe9\0", None, "<\u{e9}", "UTF-16LE", false);
    check(b"\xfe\xff\0<\0\xe9", None, "<\u{e9}", "UTF-16BE", false);
    check(b"\xff\xfe\0\0<\0\0\0", None, "<", "UTF-32", false);
    check(b"\0\0\xfe\xff\0\0\0<", None, "<", "UTF-32", false);
}

#[test]
fn content_type_precedes_xml_declaration() {
    let declared = b"<?xml version='1.0' encoding='windows-1251'?><a>\xcf\xf0\xe8\xe2\xe5\xf2";
    let head = "<?xml version='1.0' encoding='windows-1251'?><a>";
    check(
        declared,
        None,
        &format!("{head}\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}"),
        "windows-1251",
        false,
    );
    let latin = format!("{head}\u{cf}\u{f0}\u{e8}\u{e2}\u{e5}\u{f2}");
    check(declared, Some("text/xml; charset=\"ISO-8859-1\""), &latin, "windows-1252", false);
    check(
        declared,
        Some("text/xml; charset=nonsense"),
        &latin.replace(&latin[48..], "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}"),
        "windows-1251",
        false,
    );
}

#[test]
fn utf_16_and_utf_32_need_no_mark() {
    check(b"<\0a\0>\0", None, "<a>", "UTF-16LE", false);
    check(b"\0<\0a\0>", None, "<a>", "UTF-16BE", false);
    check(b"<\0\0\0a\0\0\0", None, "<a", "UTF-32", false);
    check(b"\0\0\0<\0\0\0a", None, "<a", "UTF-32", false);
    check(b"<?xml encoding='utf-16'?>", None, "<?xml encoding='utf-16'?>", "UTF-8", true);
}

#[test]
fn impossible_claims_are_ignored() {
    check(b"caf\xc3\xa9", Some("text/xml; charset=iso-8859-1"), "caf\u{e9}", "UTF-8", true);
    check(
        b"it\x92s a caf\xe9, \x93really\x94",
        Some("text/xml; charset=utf-8"),
        "it\u{2019}s a caf\u{e9}, \u{201c}really\u{201d}",
        "windows-1252",
        true,
    );
    check(
        b"\xc3\xa9\xc3\xa9 it\x92s",
        Some("text/xml; charset=utf-8"),
        "\u{e9}\u{e9} it\u{2019}s",
        "UTF-8",
        true,
    );
    check(b"\xc3\xa9\xc3\xa9 \xe2\x82", None, "\u{e9}\u{e9} \u{fffd}", "UTF-8", true);
}

#[test]
fn control_characters_are_removed() {
    let decoded = decode(b"a\0b\x08c\x0bd\te\n\x7f\xc2\x92", None);
    assert_eq!(decoded.text, "abcd\te\n\u{2019}");
    assert!(decoded.control_characters);
    let valid = decode("a\tb\r\n\u{a0}\u{e9}".as_bytes(), None);
    assert!(!valid.control_characters);
    assert!(matches!(valid.text, std::borrow::Cow::Borrowed(_)));
}

#[test]
fn double_encoded_text_is_restored() {
    let decoded = decode("it\u{e2}\u{80}\u{99}s a caf\u{c3}\u{a9}".as_bytes(), None);
    assert_eq!(decoded.text, "it\u{2019}s a caf\u{e9}");
    // Without a control character there is no evidence of double encoding.
    assert_eq!(decode("\u{c3}\u{a9}".as_bytes(), None).text, "\u{c3}\u{a9}");
}

#[test]
fn truncated_units_do_not_panic() {
    for bytes in [&b""[..], b"\0", b"\xff\xfe", b"\xff\xfe<", b"\0\0\xfe\xff\0", b"\xef\xbb\xbf", b"\0<\0"] {
        decode(bytes, None);
    }
}
