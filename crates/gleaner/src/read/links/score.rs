//! How much a link looks like one to an article: what speaks for it and against it, in points.
//!
//! The points are round numbers set by hand. What counts is that several signs together are needed, so that no
//! theme's habit decides alone. Absent on purpose: anything learnt from particular pages.

use std::collections::HashMap;

use super::candidate::Candidate;
use super::items::Item;
use super::region::Region;

/// Points that a link needs.
const ENOUGH: f64 = 4.2;

/// What it needs of the points that the best have: beside headlines, lesser lists are something else.
const NEAR: f64 = 0.55;

/// How many are the best.
const BEST: usize = 5;

/// What a link needs besides on a page of offers.
const AMONG_OFFERS: f64 = 2.0;

/// With fewer points nothing is an article, whatever it looks like.
const PLAUSIBLE: f64 = 0.5;

/// So few links are no list, and need more each.
const FEW: usize = 2;
const WHEN_FEW: f64 = 1.5;

/// What is known of a link beside itself.
pub(super) struct Signs<'a> {
    pub candidate: &'a Candidate,
    pub item: &'a Item,
    /// A list in the page's data names it as an article.
    pub listed: bool,
    /// A list in the page's data names it as something else.
    pub offered: bool,
}

/// Which of the links look like articles. Those of other sites only count where they are the most: some pages
/// collect what was written elsewhere.
pub(super) fn choose(signs: &[Signs<'_>], offers: bool) -> Vec<bool> {
    let inside = choose_of(signs, offers, true);
    let outside = choose_of(signs, offers, false);
    let count = |chosen: &[bool]| chosen.iter().filter(|chosen| **chosen).count();
    if count(&outside) > FEW.max(count(&inside)) {
        return inside.iter().zip(outside).map(|(inside, outside)| *inside || outside).collect();
    }
    inside
}

/// Which of the links on the page's own site, or of those that are not, look like articles.
fn choose_of(signs: &[Signs<'_>], offers: bool, same_site: bool) -> Vec<bool> {
    let is_asked_for = |signs: &Signs<'_>| signs.candidate.address.same_site == same_site;
    let own: Vec<f64> = signs.iter().map(|signs| points(signs)).collect();
    let mut points = with_lists(signs, &own);
    for (signs, points) in signs.iter().zip(&mut points) {
        *points = if is_asked_for(signs) { *points } else { f64::NEG_INFINITY };
    }
    let among_offers = offers || is_mostly_offers(signs, &points);
    for (signs, points) in signs.iter().zip(&mut points) {
        *points = if among_offers && is_offer(signs) { f64::NEG_INFINITY } else { *points };
    }
    let needed = ENOUGH.max(NEAR * best(&points)) + if among_offers { AMONG_OFFERS } else { 0.0 };
    let few = points.iter().filter(|points| **points >= needed).count() <= FEW;
    let needed = if few { needed.max(ENOUGH + WHEN_FEW) } else { needed };
    let mut chosen: Vec<bool> = points.iter().map(|points| *points >= needed).collect();
    complete(signs, &own, &mut chosen);
    for (signs, chosen) in signs.iter().zip(&mut chosen) {
        *chosen &= is_asked_for(signs);
    }
    chosen
}

/// Chooses the few of a kind that are left when most of it is chosen: short titles among long ones.
fn complete(signs: &[Signs<'_>], own: &[f64], chosen: &mut [bool]) {
    let fit = |signs: &Signs<'_>, own: f64| own > PLAUSIBLE && !signs.candidate.title.is_empty();
    let mut kinds: HashMap<u64, (usize, usize)> = HashMap::new();
    for ((signs, own), chosen) in signs.iter().zip(own).zip(&*chosen) {
        if fit(signs, *own) {
            let (all, taken) = kinds.entry(signs.candidate.kind).or_default();
            *all += 1;
            *taken += usize::from(*chosen);
        }
    }
    for ((signs, own), chosen) in signs.iter().zip(own).zip(chosen) {
        let (all, taken) = kinds.get(&signs.candidate.kind).copied().unwrap_or_default();
        *chosen |= fit(signs, *own) && taken > FEW && taken * 5 >= all * 3;
    }
}

/// The points of a link by itself.
fn points(signs: &Signs<'_>) -> f64 {
    let if_so = |so: bool, points: f64| if so { points } else { 0.0 };
    let Signs { candidate, item, .. } = signs;
    named(candidate)
        + addressed(candidate)
        + placed(candidate.region)
        + if_so(item.timed, 1.5)
        + if_so(item.article, 0.7)
        + if_so(candidate.image || candidate.count > 1, 0.3)
        + if_so(signs.listed, 2.0)
        - offered(signs)
        - if_so(candidate.sponsored, 2.0)
        - if_so(candidate.prose, 2.5)
}

/// For what it is called.
fn named(candidate: &Candidate) -> f64 {
    let title = &candidate.title;
    let length = title.width() as f64;
    let long = 3.0 * ((length - 8.0) / 28.0).clamp(0.0, 1.0) - if length < 8.0 { 0.5 } else { 0.0 };
    let heading = match title {
        title if title.is_heading() => 2.0,
        title if title.is_titled() || title.is_borrowed() => 1.0,
        _ => 0.0,
    };
    long + heading - if title.is_counted() { 2.0 } else { 0.0 }
}

/// For where it leads.
fn addressed(candidate: &Candidate) -> f64 {
    let address = &candidate.address;
    let signs = [
        (address.dated, 1.5),
        (address.article, 0.5),
        (address.below, 0.5),
        (address.numbered, 0.5),
        (candidate.is_listing(), -4.0),
        (address.service, -1.5),
        (address.beside, -0.7),
        (!address.same_site, -2.0),
    ];
    0.35 * address.words.min(6) as f64 + sum(&signs)
}

/// For where it stands.
fn placed(region: Region) -> f64 {
    sum(&[
        (region.is(Region::MENU), -4.0),
        (region.is(Region::FOOT), -4.0),
        (region.is(Region::SERVICE), -2.0),
        (region.is(Region::COMMENTS), -2.0),
        (region.is(Region::SIDE), -2.5),
        (region.is(Region::RELATED), -1.5),
        (region.is(Region::BYLINE), -1.0),
    ])
}

/// What is taken off because something is offered.
fn offered(signs: &Signs<'_>) -> f64 {
    sum(&[
        (signs.candidate.address.offer, 3.0),
        (signs.candidate.region.is(Region::OFFER), 2.0),
        (signs.item.price, 2.0),
        (signs.offered, 3.0),
    ])
}

/// Whether something is offered more than told: news has a date where it has a price.
fn is_offer(signs: &Signs<'_>) -> bool {
    let offered = offered(signs);
    offered > 2.0 || (offered > 0.0 && !signs.item.timed)
}

fn sum(signs: &[(bool, f64)]) -> f64 {
    signs.iter().filter(|(so, _)| *so).map(|(_, points)| points).sum()
}

/// Links stand and fall with those of the same list: half of the points are the list's mean, and long lists get more.
fn with_lists(signs: &[Signs<'_>], own: &[f64]) -> Vec<f64> {
    let key = |signs: &Signs<'_>| (signs.item.list, signs.candidate.address.same_site, signs.candidate.prose);
    let mut lists: HashMap<_, (f64, f64)> = HashMap::new();
    for (signs, points) in signs.iter().zip(own) {
        let (sum, count) = lists.entry(key(signs)).or_default();
        *sum += points;
        *count += 1.0;
    }
    let joined = |(signs, points): (&Signs<'_>, &f64)| {
        let (sum, count) = lists.get(&key(signs)).copied().unwrap_or((*points, 1.0));
        (points + sum / count) / 2.0 + (count.log2() / 4.0).min(1.0)
    };
    signs.iter().zip(own).map(joined).collect()
}

/// The mean of the best.
fn best(points: &[f64]) -> f64 {
    let mut sorted = points.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted.iter().take(BEST).map(|points| points.max(0.0)).sum::<f64>() / BEST as f64
}

/// Whether most that would be enough are offers.
fn is_mostly_offers(signs: &[Signs<'_>], points: &[f64]) -> bool {
    let (mut offers, mut others) = (0, 0);
    for (signs, points) in signs.iter().zip(points) {
        match is_offer(signs) {
            true if points + offered(signs) >= ENOUGH => offers += 1,
            false if *points >= ENOUGH => others += 1,
            _ => {}
        }
    }
    offers > others
}
