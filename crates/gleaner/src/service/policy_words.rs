//! The rules of policies in words, the same on the command line and on pages.

use gleaner_core::outcome::{Cause, Class, ErrorKind};
use gleaner_core::policy::{Aside, Counts, Gap, Policy, Then};
use gleaner_core::time::Span;

/// How long a source waits after a failure of this kind.
pub fn gap(policy: &Policy, kind: ErrorKind) -> String {
    match policy.rule(kind).gap {
        _ if kind == ErrorKind::Internal => "interval, at least 1 hour".to_owned(),
        Gap::Interval => "interval".to_owned(),
        Gap::Backoff => format!("backoff, up to {}", policy.max_backoff),
        Gap::Age { share: Some(share) } => format!("{share} × age"),
        Gap::Age { share: None } => {
            let of = |class: Option<Class>| policy.age.share(class.unwrap_or(Class::Transient));
            let (share, dns) = (of(kind.class()), of(ErrorKind::Network(Cause::Dns).class()));
            let apart = kind.cause().is_some() && (share - dns).abs() > f64::EPSILON;
            if apart { format!("{share} × age, DNS {dns}") } else { format!("{share} × age") }
        }
    }
}

/// When a source is set aside.
pub fn when(kind: ErrorKind, aside: &Aside) -> String {
    let counted = match (aside.counts, kind) {
        (Counts::Kind, _) => "of this kind",
        (Counts::Any, _) => "of any kind",
        (Counts::Permanent, ErrorKind::Network(_)) => "permanent (DNS)",
        (Counts::Permanent, _) => "permanent",
    };
    let over = if aside.over > Span::ZERO { format!(" over {}", aside.over) } else { String::new() };
    match aside.threshold {
        1 if over.is_empty() => "at once".to_owned(),
        n => format!("{n} in a row {counted}{over}"),
    }
}

/// What happens then.
pub fn then(aside: &Aside) -> String {
    match aside.then {
        Then::KeepPolling => "quarantined, still polled".to_owned(),
        Then::CoolDown(span) => format!("quarantined for {span}"),
        Then::WaitForPerson => "quarantined until a person retries it".to_owned(),
        Then::Disable => "disabled".to_owned(),
    }
}
