//! Changes that config lays over the policy tables, and what makes them invalid.
//!
//! The same shape prints a whole table, so that what `policy show` says can be pasted into a config file.
//! Every mistake is reported with its key, its value and what is allowed there; all at once, not the first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outcome::{ErrorKind, Level};
use crate::policy::{Aside, Counts, Gap, Knobs, Policy, Rule, Then};
use crate::time::Span;

/// `[policies.NAME]`: only what is set changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyOverlay {
    /// The table a new policy starts from; the shipped ones start from themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The longest gap that backoff gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_backoff_hours: Option<f64>,
    /// Whether a kind that is never set aside ends a quarantine that it meets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exempt_lifts: Option<bool>,
    /// Whether the cause of a failure is judged: host incidents, local network outages and pacing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<bool>,
    /// How gaps grow with the age of an outage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeOverlay>,
    /// What each error kind does, by its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<String, RuleOverlay>,
}

/// `[policies.NAME.age]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgeOverlay {
    /// Share of the age for permanent kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_permanent: Option<f64>,
    /// Share of the age for transient kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_transient: Option<f64>,
    /// The cap for transient kinds while the outage is young.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub young_cap_hours: Option<f64>,
    /// How long an outage is young.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub young_days: Option<f64>,
    /// The cap otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap_days: Option<f64>,
    /// After so long of nothing but permanent failures, a source is dormant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dormant_after_days: Option<f64>,
    /// How often a dormant source is polled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dormant_every_days: Option<f64>,
}

/// `[policies.NAME.on.KIND]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleOverlay {
    /// How loud the failure is in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// How the next poll is timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<GapName>,
    /// With `gap = "age"`: this kind's own share of the outage's age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// What being set aside means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<AsideName>,
    /// Which failures in a row count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<CountsName>,
    /// How many of them it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<i64>,
    /// How long the run must have lasted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_hours: Option<f64>,
    /// With `set_aside = "cool_down"`: for how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown_hours: Option<f64>,
}

/// Names of [`Gap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapName {
    /// [`Gap::Interval`].
    Interval,
    /// [`Gap::Backoff`].
    Backoff,
    /// [`Gap::Age`].
    Age,
}

/// Names of [`Then`], and `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AsideName {
    /// Never set aside.
    Never,
    /// [`Then::KeepPolling`].
    KeepPolling,
    /// [`Then::CoolDown`].
    CoolDown,
    /// [`Then::WaitForPerson`].
    WaitForPerson,
    /// [`Then::Disable`].
    Disable,
}

/// Names of [`Counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountsName {
    /// [`Counts::Kind`].
    Kind,
    /// [`Counts::Any`].
    Any,
    /// [`Counts::Permanent`].
    Permanent,
}

/// One mistake in a policy: where, what stands there, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {allowed}")]
pub struct PolicyError {
    /// The key in the config file.
    pub key: String,
    /// What stands there.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

/// All policies by name, with the changes laid over them.
pub fn build(
    knobs: Knobs,
    overlays: &BTreeMap<String, PolicyOverlay>,
) -> Result<BTreeMap<String, Policy>, Vec<PolicyError>> {
    let shipped = |name: &str| Policy::builtin(name, knobs);
    let mut policies: BTreeMap<String, Policy> =
        Policy::NAMES.iter().filter_map(|name| Some(((*name).to_owned(), shipped(name)?))).collect();
    let mut errors = Errors::default();
    for (name, overlay) in overlays {
        let base = overlay.base.as_deref().unwrap_or(name);
        match shipped(base) {
            Some(mut policy) => {
                policy.name.clone_from(name);
                errors.at(format!("policies.{name}"), |errors| lay_over(&mut policy, overlay, errors));
                policies.insert(name.clone(), policy);
            }
            None => errors.at(format!("policies.{name}"), |errors| {
                let names = Policy::NAMES.join(", ");
                errors.add("base", base, format!("must be one of the shipped policies: {names}"));
            }),
        }
    }
    if errors.found.is_empty() { Ok(policies) } else { Err(errors.found) }
}

/// The whole table of a policy, in the shape that config takes.
pub fn table(policy: &Policy) -> PolicyOverlay {
    let age = policy.age;
    PolicyOverlay {
        base: None,
        max_backoff_hours: Some(hours(policy.max_backoff)),
        exempt_lifts: Some(policy.exempt_lifts),
        judged: Some(policy.judged),
        age: Some(AgeOverlay {
            share_permanent: Some(age.share_permanent),
            share_transient: Some(age.share_transient),
            young_cap_hours: Some(hours(age.young_cap)),
            young_days: Some(hours(age.young) / 24.0),
            cap_days: Some(hours(age.cap) / 24.0),
            dormant_after_days: Some(hours(age.dormant_after) / 24.0),
            dormant_every_days: Some(hours(age.dormant_every) / 24.0),
        }),
        on: ErrorKind::all().map(|kind| (kind.name().to_owned(), rule_table(policy.rule(kind)))).collect(),
    }
}

fn rule_table(rule: &Rule) -> RuleOverlay {
    let aside = rule.aside;
    RuleOverlay {
        level: Some(rule.level),
        gap: Some(match rule.gap {
            Gap::Interval => GapName::Interval,
            Gap::Backoff => GapName::Backoff,
            Gap::Age { .. } => GapName::Age,
        }),
        share: match rule.gap {
            Gap::Age { share } => share,
            _ => None,
        },
        set_aside: Some(match aside.map(|aside| aside.then) {
            None => AsideName::Never,
            Some(Then::KeepPolling) => AsideName::KeepPolling,
            Some(Then::CoolDown(_)) => AsideName::CoolDown,
            Some(Then::WaitForPerson) => AsideName::WaitForPerson,
            Some(Then::Disable) => AsideName::Disable,
        }),
        counts: aside.map(|aside| match aside.counts {
            Counts::Kind => CountsName::Kind,
            Counts::Any => CountsName::Any,
            Counts::Permanent => CountsName::Permanent,
        }),
        threshold: aside.map(|aside| aside.threshold.into()),
        over_hours: aside.map(|aside| hours(aside.over)),
        cooldown_hours: aside.and_then(|aside| match aside.then {
            Then::CoolDown(span) => Some(hours(span)),
            _ => None,
        }),
    }
}

fn hours(span: Span) -> f64 {
    span.as_millis() as f64 / 3_600_000.0
}

/// Collects mistakes under the key that is being read.
#[derive(Default)]
struct Errors {
    path: Vec<String>,
    found: Vec<PolicyError>,
}

impl Errors {
    fn at(&mut self, key: String, inside: impl FnOnce(&mut Self)) {
        self.path.push(key);
        inside(self);
        self.path.pop();
    }

    fn add(&mut self, key: &str, value: impl ToString, allowed: impl Into<String>) {
        let key = self.path.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".");
        self.found.push(PolicyError { key, value: value.to_string(), allowed: allowed.into() });
    }

    /// Sets `to` from a number of `unit`s, 0 allowed or not, at most a hundred years.
    fn span(&mut self, key: &str, value: Option<f64>, unit: Span, zero: bool, to: &mut Span) {
        const CENTURY: Span = Span::from_days(36_525);
        let Some(value) = value else { return };
        let span = unit.scale(value);
        if value.is_finite() && span <= CENTURY && (value > 0.0 || zero && value == 0.0) {
            *to = span;
        } else {
            let least = if zero { "from 0" } else { "above 0" };
            self.add(key, value, format!("must be a length of time {least} up to 100 years"));
        }
    }

    fn share(&mut self, key: &str, value: Option<f64>, to: &mut f64) {
        match value {
            Some(share) if share > 0.0 && share <= 10.0 => *to = share,
            Some(share) => self.add(key, share, "must be above 0 and at most 10"),
            None => {}
        }
    }
}

fn lay_over(policy: &mut Policy, overlay: &PolicyOverlay, errors: &mut Errors) {
    let (hour, day) = (Span::from_hours(1), Span::from_days(1));
    errors.span("max_backoff_hours", overlay.max_backoff_hours, hour, false, &mut policy.max_backoff);
    policy.exempt_lifts = overlay.exempt_lifts.unwrap_or(policy.exempt_lifts);
    policy.judged = overlay.judged.unwrap_or(policy.judged);
    if let Some(age) = overlay.age {
        let to = &mut policy.age;
        errors.at("age".into(), |errors| {
            errors.share("share_permanent", age.share_permanent, &mut to.share_permanent);
            errors.share("share_transient", age.share_transient, &mut to.share_transient);
            errors.span("young_cap_hours", age.young_cap_hours, hour, false, &mut to.young_cap);
            errors.span("young_days", age.young_days, day, true, &mut to.young);
            errors.span("cap_days", age.cap_days, day, false, &mut to.cap);
            errors.span("dormant_after_days", age.dormant_after_days, day, false, &mut to.dormant_after);
            errors.span("dormant_every_days", age.dormant_every_days, day, false, &mut to.dormant_every);
        });
    }
    for (name, rule) in &overlay.on {
        match name.parse::<ErrorKind>() {
            Ok(ErrorKind::Internal) => {
                errors.add(
                    "on",
                    name,
                    "our own faults are never held against a source; there is nothing to set",
                );
            }
            Ok(kind) => errors.at(format!("on.{name}"), |errors| {
                lay_over_rule(&mut policy.rules[kind.index()], rule, errors);
            }),
            Err(unknown) => errors.add("on", name, unknown.to_string()),
        }
    }
}

fn lay_over_rule(rule: &mut Rule, overlay: &RuleOverlay, errors: &mut Errors) {
    rule.level = overlay.level.unwrap_or(rule.level);
    rule.gap = match (overlay.gap, rule.gap) {
        (Some(GapName::Interval), _) => Gap::Interval,
        (Some(GapName::Backoff), _) => Gap::Backoff,
        (Some(GapName::Age), old @ Gap::Age { .. }) | (None, old) => old,
        (Some(GapName::Age), _) => Gap::Age { share: None },
    };
    match (&mut rule.gap, overlay.share) {
        (_, None) => {}
        (Gap::Age { share }, value) => {
            let mut read = share.unwrap_or(1.0);
            errors.share("share", value, &mut read);
            *share = Some(read);
        }
        (_, Some(value)) => errors.add("share", value, "is read with gap = \"age\" only"),
    }
    lay_over_aside(rule, overlay, errors);
}

fn lay_over_aside(rule: &mut Rule, overlay: &RuleOverlay, errors: &mut Errors) {
    let mut aside = rule.aside.unwrap_or(Aside {
        counts: Counts::Kind,
        threshold: 5,
        over: Span::ZERO,
        then: Then::KeepPolling,
    });
    let never = match overlay.set_aside {
        Some(name) => name == AsideName::Never,
        None => rule.aside.is_none(),
    };
    let mut cooldown = match aside.then {
        Then::CoolDown(span) => span,
        _ => Span::from_hours(24),
    };
    errors.span("cooldown_hours", overlay.cooldown_hours, Span::from_hours(1), false, &mut cooldown);
    errors.span("over_hours", overlay.over_hours, Span::from_hours(1), true, &mut aside.over);
    match overlay.threshold.map(u32::try_from) {
        None => {}
        Some(Ok(threshold)) if threshold > 0 => aside.threshold = threshold,
        Some(_) => {
            let value = overlay.threshold.unwrap_or_default();
            errors.add("threshold", value, format!("must be a whole number from 1 to {}", u32::MAX));
        }
    }
    aside.counts = match overlay.counts {
        Some(CountsName::Kind) => Counts::Kind,
        Some(CountsName::Any) => Counts::Any,
        Some(CountsName::Permanent) => Counts::Permanent,
        None => aside.counts,
    };
    aside.then = match (overlay.set_aside, aside.then) {
        (Some(AsideName::KeepPolling), _) => Then::KeepPolling,
        (Some(AsideName::WaitForPerson), _) => Then::WaitForPerson,
        (Some(AsideName::Disable), _) => Then::Disable,
        (Some(AsideName::CoolDown), _) | (None, Then::CoolDown(_)) => Then::CoolDown(cooldown),
        (Some(AsideName::Never) | None, then) => then,
    };
    if overlay.cooldown_hours.is_some() && !matches!(aside.then, Then::CoolDown(_)) {
        let value = overlay.cooldown_hours.unwrap_or_default();
        errors.add("cooldown_hours", value, "is read with set_aside = \"cool_down\" only");
    }
    if never && (overlay.threshold.is_some() || overlay.over_hours.is_some() || overlay.counts.is_some()) {
        errors.add("set_aside", "never", "leaves nothing to count; set set_aside, or drop the other keys");
    }
    rule.aside = (!never).then_some(aside);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> Result<BTreeMap<String, Policy>, String> {
        let overlays = toml::from_str(toml).map_err(|error| error.message().to_owned())?;
        build(Knobs::default(), &overlays)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    fn refused(toml: &str, expected: &str) {
        assert_eq!(read(toml).unwrap_err(), expected);
    }

    #[test]
    fn a_printed_table_reads_back_as_itself() {
        for name in Policy::NAMES {
            let policy = Policy::builtin(name, Knobs::default()).unwrap();
            let mut whole = table(&policy);
            // There is nothing to set about our own faults, so config refuses it; it is printed to be seen.
            whole.on.remove("internal");
            let printed =
                toml::from_str(&toml::to_string(&BTreeMap::from([(name, whole)])).unwrap()).unwrap();
            assert_eq!(build(Knobs::default(), &printed).unwrap()[name], policy);
        }
    }

    #[test]
    fn only_what_is_set_changes() {
        let policies = read("[cooldown.on.not_found]\nthreshold = 7\ncooldown_hours = 1.5").unwrap();
        let aside = policies["cooldown"].rule(ErrorKind::NotFound).aside.unwrap();
        assert_eq!((aside.threshold, aside.then), (7, Then::CoolDown(Span::from_mins(90))));
        assert_eq!(policies["standard"], Policy::builtin("standard", Knobs::default()).unwrap());
    }

    #[test]
    fn a_new_policy_starts_from_a_shipped_one() {
        let policies =
            read("[mine]\nbase = \"backoff\"\n[mine.on.gone]\nset_aside = \"wait_for_person\"").unwrap();
        assert_eq!(policies["mine"].rule(ErrorKind::Gone).aside.unwrap().then, Then::WaitForPerson);
        assert_eq!(policies["mine"].rule(ErrorKind::NotFound).gap, Gap::Backoff);
        refused(
            "[mine]",
            "policies.mine.base = mine: must be one of the shipped policies: standard, backoff, cooldown, quarantine",
        );
    }

    #[test]
    fn mistakes_name_key_value_and_what_is_allowed() {
        refused(
            "[standard.on.not_found]\nthreshold = 0",
            "policies.standard.on.not_found.threshold = 0: must be a whole number from 1 to 4294967295",
        );
        refused(
            "[cooldown.on.gone]\ncooldown_hours = -3",
            "policies.cooldown.on.gone.cooldown_hours = -3: must be a length of time above 0 up to 100 years",
        );
        refused(
            "[standard.age]\nshare_permanent = nan\ncap_days = inf",
            "policies.standard.age.share_permanent = NaN: must be above 0 and at most 10\n\
             policies.standard.age.cap_days = inf: must be a length of time above 0 up to 100 years",
        );
        refused(
            "[standard.on.gone]\ncooldown_hours = 3",
            "policies.standard.on.gone.cooldown_hours = 3: is read with set_aside = \"cool_down\" only",
        );
        refused(
            "[standard.on.rate_limited]\nthreshold = 3",
            "policies.standard.on.rate_limited.set_aside = never: leaves nothing to count; set set_aside, or drop \
             the other keys",
        );
        assert!(
            read("[standard.on.teapot]").unwrap_err().starts_with(
                "policies.standard.on = teapot: 'teapot' is no error kind; there are rate_limited"
            )
        );
        assert!(read("[standard]\nmax_bakcoff_hours = 3").unwrap_err().contains("max_bakcoff_hours"));
    }
}
