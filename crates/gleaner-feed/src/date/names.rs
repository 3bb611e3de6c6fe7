//! Names in dates: months, time zones, AM and PM.

/// What a word in a date means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// 1 to 12.
    Month(u32),
    /// Minutes east of UTC.
    Zone(i32),
    Afternoon(bool),
    /// A word without meaning: `of`, `th`.
    Filler,
}

pub(super) fn is_utc(word: &str) -> bool {
    ["gmt", "utc", "ut"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

pub(super) fn lookup(word: &str) -> Option<Name> {
    // Nearly all dates are in English, so English is tried first.
    let mut buffer = [0; 16];
    let ascii = match buffer.get_mut(..word.len()).filter(|_| word.is_ascii()) {
        Some(lower) => {
            lower.copy_from_slice(word.as_bytes());
            lower.make_ascii_lowercase();
            std::str::from_utf8(lower).ok()
        }
        None => None,
    };
    match ascii {
        Some(lower) => english(lower).or_else(|| foreign(lower)),
        None => foreign(&word.to_lowercase()),
    }
}

fn english(lower: &str) -> Option<Name> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    const WEEKDAYS: [&str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let abbreviates = |name: &&str| name.starts_with(lower);
    if lower == "gmt" {
        return Some(Name::Zone(0));
    }
    if lower.len() >= 3 {
        if let Some(index) = MONTHS.iter().position(&abbreviates) {
            return u32::try_from(index + 1).ok().map(Name::Month);
        }
        if WEEKDAYS.iter().any(abbreviates) {
            return Some(Name::Filler);
        }
    }
    let zone = ZONES.binary_search_by(|(name, _)| (*name).cmp(lower)).ok();
    zone.map(|index| Name::Zone(ZONES[index].1))
}

fn foreign(lower: &str) -> Option<Name> {
    match lower {
        "am" | "\u{c624}\u{c804}" | "\u{4e0a}\u{5348}" | "\u{5348}\u{524d}" => Some(Name::Afternoon(false)),
        "pm" | "\u{c624}\u{d6c4}" | "\u{4e0b}\u{5348}" | "\u{5348}\u{5f8c}" => Some(Name::Afternoon(true)),
        "t" | "st" | "nd" | "rd" | "th" | "of" | "de" | "del" | "den" | "at" | "um" | "uhr" | "on"
        | "the" => Some(Name::Filler),
        _ => {
            let index = MONTHS.iter().position(|names| names.contains(&lower))?;
            u32::try_from(index + 1).ok().map(Name::Month)
        }
    }
}

/// Month names in other languages, in lower case: German, French, Spanish, Italian, Portuguese, Dutch, the Nordic
/// languages, Polish, Russian, Ukrainian, Greek, Hungarian, Romanian, Turkish, Indonesian. Words that mean
/// different months in different languages (`listopad`) are left out.
#[rustfmt::skip]
const MONTHS: [&[&str]; 12] = [
    &["januar", "jänner", "jän", "janvier", "janv", "enero", "ene", "gennaio", "gen", "janeiro", "januari", "janúar",
      "stycznia", "styczeń", "sty", "января", "январь", "янв", "січня", "січ", "ιανουαρίου", "ιαν", "január",
      "ianuarie", "ian", "ocak", "oca"],
    &["februar", "février", "févr", "fév", "fevrier", "febrero", "febbraio", "fevereiro", "fev", "februari",
      "lutego", "luty", "lut", "февраля", "февраль", "фев", "февр", "лютого", "лют", "φεβρουαρίου", "φεβ", "φεβρ",
      "február", "febr", "februarie", "şubat", "şub", "helmikuuta"],
    &["märz", "mär", "mrz", "maerz", "mars", "marzo", "março", "marco", "maart", "mrt", "marca", "marzec", "марта",
      "март", "мар", "березня", "бер", "μαρτίου", "μαρ", "μάρ", "március", "márc", "martie", "mart", "maret"],
    &["avril", "avr", "abril", "abr", "aprile", "april", "kwietnia", "kwiecień", "kwi", "апреля", "апрель", "апр",
      "квітня", "кві", "квіт", "απριλίου", "απρ", "április", "ápr", "aprilie", "nisan", "nis"],
    &["mai", "mayo", "maggio", "mag", "maio", "mei", "maj", "maja", "мая", "май", "травня", "тра", "трав", "μαΐου",
      "μαι", "μαϊ", "μάι", "május", "máj", "mayıs"],
    &["juni", "jun", "juin", "junio", "giugno", "giu", "junho", "czerwca", "czerwiec", "cze", "июня", "июнь", "июн",
      "червня", "чер", "черв", "ιουνίου", "ιουν", "ιούν", "június", "jún", "iunie", "iun", "haziran", "haz"],
    &["juli", "juillet", "juil", "julio", "luglio", "lug", "julho", "lipca", "lipiec", "lip", "июля", "июль", "июл",
      "липня", "лип", "ιουλίου", "ιουλ", "ιούλ", "július", "júl", "iulie", "iul", "temmuz", "tem"],
    &["août", "aout", "agosto", "ago", "augustus", "sierpnia", "sierpień", "sie", "августа", "август", "авг",
      "серпня", "сер", "серп", "αυγούστου", "αυγ", "αύγ", "augusztus", "august", "ağustos", "ağu", "agustus"],
    &["septembre", "septiembre", "settembre", "set", "sett", "setembro", "sept", "september", "września", "wrzesień",
      "wrz", "сентября", "сентябрь", "сен", "сент", "вересня", "вер", "вересня", "σεπτεμβρίου", "σεπ", "σεπτ",
      "szeptember", "szept", "septembrie", "eylül", "eyl"],
    &["oktober", "okt", "octobre", "octubre", "ottobre", "ott", "outubro", "out", "października", "październik",
      "paź", "октября", "октябрь", "окт", "жовтня", "жов", "жовт", "οκτωβρίου", "οκτ", "október", "octombrie", "ekim",
      "eki"],
    &["novembre", "noviembre", "novembro", "listopada", "ноября", "ноябрь", "ноя", "нояб", "листопада", "лист",
      "νοεμβρίου", "νοε", "noiembrie", "noi", "kasım", "kas"],
    &["dezember", "dez", "décembre", "déc", "decembre", "diciembre", "dic", "dicembre", "dezembro", "desember",
      "des", "grudnia", "grudzień", "gru", "декабря", "декабрь", "дек", "грудня", "гру", "груд", "δεκεμβρίου", "δεκ",
      "decembrie", "aralık", "ara"],
];

/// Time zone names in minutes east of UTC, sorted: those of RFC 822, and common ones whose other meanings are rare.
#[rustfmt::skip]
const ZONES: &[(&str, i32)] = &[
    ("acdt", 630), ("acst", 570), ("adt", -180), ("aedt", 660), ("aest", 600), ("akdt", -480), ("akst", -540),
    ("art", -180), ("ast", -240), ("at", -240), ("awst", 480), ("bdt", 360), ("brst", -120), ("brt", -180),
    ("bst", 60), ("cat", 120), ("cdt", -300), ("cest", 120), ("cet", 60), ("clst", -180), ("clt", -240),
    ("cot", -300), ("cst", -360), ("ct", -360), ("eat", 180), ("edt", -240), ("eest", 180), ("eet", 120),
    ("est", -300), ("et", -300), ("gmt", 0), ("hkt", 480), ("hst", -600), ("idt", 180), ("ist", 330), ("jst", 540),
    ("kst", 540), ("mdt", -360), ("mest", 120), ("met", 60), ("msd", 240), ("msk", 180), ("mst", -420),
    ("mt", -420), ("ndt", -150), ("nst", -210), ("nzdt", 780), ("nzst", 720), ("pdt", -420), ("pht", 480),
    ("pkt", 300), ("pst", -480), ("pt", -480), ("sast", 120), ("sgt", 480), ("trt", 180), ("ut", 0), ("utc", 0),
    ("wat", 60), ("west", 60), ("wet", 0), ("wib", 420), ("z", 0), ("zulu", 0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_sorted() {
        assert!(ZONES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn each_month_name_is_unique() {
        for (index, names) in MONTHS.iter().enumerate() {
            for name in *names {
                let expected = u32::try_from(index + 1).ok().map(Name::Month);
                assert_eq!(lookup(name), expected, "{name}");
            }
        }
    }
}
