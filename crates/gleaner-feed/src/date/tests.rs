use super::{duration, parse};

const NEW_YEAR: i64 = 1_072_986_501_000; // 2004-01-01T19:48:21Z

fn check(text: &str, expected: Option<i64>) {
    assert_eq!(parse(text), expected, "{text:?}");
}

#[test]
fn rfc_822_and_its_misspellings() {
    for text in [
        "Thu, 01 Jan 2004 19:48:21 GMT",
        "Thu, 01 Jan 2004 19:48:21 +0000",
        "Thu,  1 Jan 2004 19:48:21 Z",
        "01 Jan 2004 19:48:21 UT",
        "01 Jan 04 19:48:21 GMT",
        "1 January 2004 19:48:21 UTC",
        "Thursday, January 1, 2004 19:48:21 GMT",
        "Thurs, Jan 1st 2004 19:48:21 GMT",
        "Mon, 01 Jan 2004 19:48:21 GMT",
        "Thu,01 Jan 2004 19:48:21GMT",
        "Thu, 01-Jan-2004 19:48:21 GMT",
        "Thu, 01 Jan 2004 14:48:21 EST",
        "Thu, 01 Jan 2004 20:48:21 CET",
        "Thu, 01 Jan 2004 14:48:21 -0500",
        "Thu, 01 Jan 2004 14:48:21 -05:00",
        "Thu, 01 Jan 2004 14:48:21 -0500 (EST)",
        "Thu, 01 Jan 2004 14:48:21 GMT-5",
        "Thu, 01 Jan 2004 14:48:21 GMT-05:00",
        "Thu, 01 Jan 2004 19:48:21 Etc/GMT",
        "Thu, 01 Jan 2004 07:48:21 PM GMT",
        "Thu, 01 Jan 104 19:48:21 GMT",
        "Thu, 01 Jan 2004 19:48:21",
    ] {
        check(text, Some(NEW_YEAR));
    }
    check("Thu, 01 Jan 2004 19:48 GMT", Some(NEW_YEAR - 21_000));
    check("Thu, 01 Jan 2004", Some(1_072_915_200_000));
    check("01 Jan 99 00:00:00 GMT", Some(915_148_800_000));
}

#[test]
fn iso_8601_and_its_profiles() {
    for text in [
        "2004-01-01T19:48:21Z",
        "2004-01-01t19:48:21z",
        "2004-01-01T20:48:21+01:00",
        "2004-01-01T14:48:21-0500",
        "2004-01-01T14:48:21-05",
        "2004-01-01 19:48:21",
        "2004-01-01 19:48:21 UTC",
        "2004-01-01 19:48:21 +0000 UTC",
        "2004-01-01T19:48:21.000Z",
        "2004-01-01T19:48:21+00:00[UTC]",
        "20040101T194821Z",
        "20040101T19:48:21Z",
        "20040101194821",
        "2004-001T19:48:21Z",
        "2004001T194821Z",
        "2004-W01-4T19:48:21Z",
        "2004W014T194821Z",
        "2004/01/01 19:48:21",
        "2004-1-1T19:48:21Z",
        "2004-01-01 07:48:21 PM",
    ] {
        check(text, Some(NEW_YEAR));
    }
    let midnight = 1_072_915_200_000;
    for text in
        ["2004", "2004-01", "2004-01-01", "20040101", "2004-001", "2004-W01-4", "2003-12-31T24:00:00Z"]
    {
        check(text, Some(midnight));
    }
    check("2004-01-01T19:48:21.5Z", Some(NEW_YEAR + 500));
    check("2004-01-01T19:48:21.123456Z", Some(NEW_YEAR + 123));
    check("2004-01-01+02:00", Some(midnight - 7_200_000));
    check("2016-12-31T23:59:60Z", Some(1_483_228_800_000));
    check("1969-12-31T23:59:59Z", Some(-1000));
    check("2000-02-29", Some(951_782_400_000));
}

#[test]
fn asctime_and_similar_formats() {
    for text in ["Thu Jan  1 19:48:21 2004", "Thu Jan 1 14:48:21 EST 2004", "Jan 1, 2004 7:48:21 pm"] {
        check(text, Some(NEW_YEAR));
    }
}

#[test]
fn other_languages() {
    for text in [
        "Do, 01 Jän 2004 19:48:21 GMT",
        "jeu., 1 janv. 2004 19:48:21 GMT",
        "Jue, 01 Ene 2004 19:48:21 GMT",
        "1 stycznia 2004 19:48:21 GMT",
        "Чт, 01 янв 2004 19:48:21 GMT",
        "Πεμ, 01 Ιαν 2004 19:48:21 GMT",
        "2004-január-1T19:48:21Z",
        "2004\u{b144} 01\u{c6d4} 01\u{c77c} 19:48:21",
        "2004-01-01 \u{c624}\u{d6c4} 7:48:21",
        "2004\u{5e74}1\u{6708}1\u{65e5} 19:48:21",
    ] {
        check(text, Some(NEW_YEAR));
    }
}

#[test]
fn invalid_and_ambiguous_dates_are_rejected() {
    for text in [
        "",
        "yesterday",
        "01/02/2004",
        "Thu, 32 Jan 2004 19:48:21 GMT",
        "Sun, 29 Feb 2003 00:00:00 GMT",
        "Thu, 01 Jan 2004 25:00:00 GMT",
        "Thu, 01 Jan 2004 19:61:00 GMT",
        "Thu, 01 Foo 2004 19:48:21 GMT",
        "Thu, 01 Jan 2004 19:48:21 XYZ",
        "Thu, 01 Jan 2004 19:48:21 +9900",
        "2004-13-01",
        "2004-00-01",
        "2004-366",
        "2003-366",
        "2003-W53-1",
        "2004-01-01T",
        "10:00",
        "2004 2005 2006",
        "99999999999999999999",
    ] {
        let expected = match text {
            "2004-366" => Some(1_104_451_200_000),
            "2004-01-01T" => Some(1_072_915_200_000),
            _ => None,
        };
        check(text, expected);
    }
    check(&format!("Thu, 01 Jan 2004 19:48:21 GMT ({})", "x".repeat(128)), None);
}

#[test]
fn podcast_durations() {
    for (text, seconds) in
        [("3600", Some(3600)), ("60:00", Some(3600)), ("1:00:00", Some(3600)), ("01:02:03.5", Some(3723))]
    {
        assert_eq!(duration(text), seconds, "{text}");
    }
    for text in ["", "an hour", "1:2:3:4", "99999999:00:00"] {
        assert_eq!(duration(text), None, "{text}");
    }
}
