//! Scores links by how much they look like articles.
//!
//! The weights are round numbers set by hand. Several pieces of evidence are needed, so that the habit of one theme
//! does not decide alone. Nothing is learnt from particular pages.

use std::collections::HashMap;

use super::candidate::Candidate;
use super::items::Item;
use super::region::Region;

/// Minimum score.
const MIN_SCORE: f64 = 4.2;

/// Minimum share of the best scores: beside headlines, lists with lower scores are something else.
const MIN_SHARE_OF_BEST: f64 = 0.55;

/// Number of links that count as the best.
const BEST_COUNT: usize = 5;

/// Additional score needed on a page of products or jobs.
const OFFER_PAGE_EXTRA: f64 = 2.0;

/// Links with a lower score are never articles.
const MIN_PLAUSIBLE: f64 = 0.5;

/// This many links or fewer are not a list, and need a higher score each.
const MAX_FEW: usize = 2;
const FEW_EXTRA: f64 = 1.5;

/// The evidence about a link.
pub(super) struct LinkEvidence<'a> {
    pub candidate: &'a Candidate,
    pub item: &'a Item,
    /// JSON-LD lists it as an article.
    pub listed: bool,
    /// JSON-LD lists it as something else.
    pub listed_as_other: bool,
}

/// Which links look like articles. Links to other sites only count if they are the majority, as on pages that
/// collect articles from elsewhere.
pub(super) fn choose(evidence: &[LinkEvidence<'_>], products: bool) -> Vec<bool> {
    let own_site = choose_of(evidence, products, true);
    let other_sites = choose_of(evidence, products, false);
    let count = |chosen: &[bool]| chosen.iter().filter(|chosen| **chosen).count();
    if count(&other_sites) > MAX_FEW.max(count(&own_site)) {
        return own_site
            .iter()
            .zip(other_sites)
            .map(|(own_site, other_sites)| *own_site || other_sites)
            .collect();
    }
    own_site
}

/// Which links of the page's own site, or of other sites, look like articles.
fn choose_of(evidence: &[LinkEvidence<'_>], products: bool, same_site: bool) -> Vec<bool> {
    let is_considered = |evidence: &LinkEvidence<'_>| evidence.candidate.address.same_site == same_site;
    let own: Vec<f64> = evidence.iter().map(|evidence| points(evidence)).collect();
    let mut points = with_lists(evidence, &own);
    for (evidence, points) in evidence.iter().zip(&mut points) {
        *points = if is_considered(evidence) { *points } else { f64::NEG_INFINITY };
    }
    let among_offers = products || is_mostly_offers(evidence, &points);
    for (evidence, points) in evidence.iter().zip(&mut points) {
        *points = if among_offers && is_offer(evidence) { f64::NEG_INFINITY } else { *points };
    }
    let needed =
        MIN_SCORE.max(MIN_SHARE_OF_BEST * best(&points)) + if among_offers { OFFER_PAGE_EXTRA } else { 0.0 };
    let few = points.iter().filter(|points| **points >= needed).count() <= MAX_FEW;
    let needed = if few { needed.max(MIN_SCORE + FEW_EXTRA) } else { needed };
    let mut chosen: Vec<bool> = points.iter().map(|points| *points >= needed).collect();
    complete_kinds(evidence, &own, &mut chosen);
    for (evidence, chosen) in evidence.iter().zip(&mut chosen) {
        *chosen &= is_considered(evidence);
    }
    chosen
}

/// Also chooses the rest of a kind if most of it is chosen: short titles among long ones.
fn complete_kinds(evidence: &[LinkEvidence<'_>], own: &[f64], chosen: &mut [bool]) {
    let fit =
        |evidence: &LinkEvidence<'_>, own: f64| own > MIN_PLAUSIBLE && !evidence.candidate.title.is_empty();
    let mut kinds: HashMap<u64, (usize, usize)> = HashMap::new();
    for ((evidence, own), chosen) in evidence.iter().zip(own).zip(&*chosen) {
        if fit(evidence, *own) {
            let (all, taken) = kinds.entry(evidence.candidate.kind).or_default();
            *all += 1;
            *taken += usize::from(*chosen);
        }
    }
    for ((evidence, own), chosen) in evidence.iter().zip(own).zip(chosen) {
        let (all, taken) = kinds.get(&evidence.candidate.kind).copied().unwrap_or_default();
        *chosen |= fit(evidence, *own) && taken > MAX_FEW && taken * 5 >= all * 3;
    }
}

/// The score of a link by itself.
fn points(evidence: &LinkEvidence<'_>) -> f64 {
    let if_so = |so: bool, points: f64| if so { points } else { 0.0 };
    let LinkEvidence { candidate, item, .. } = evidence;
    title_score(candidate)
        + url_score(candidate)
        + region_score(candidate.region)
        + if_so(item.timed, 1.5)
        + if_so(item.article, 0.7)
        + if_so(candidate.image || candidate.count > 1, 0.3)
        + if_so(evidence.listed, 2.0)
        - offer_penalty(evidence)
        - if_so(candidate.sponsored, 2.0)
        - if_so(candidate.prose, 2.5)
}

/// The score of its title.
fn title_score(candidate: &Candidate) -> f64 {
    let title = &candidate.title;
    let length = title.width() as f64;
    let long = 3.0 * ((length - 8.0) / 28.0).clamp(0.0, 1.0) - if length < 8.0 { 0.5 } else { 0.0 };
    let heading = match title {
        title if title.is_heading() => 2.0,
        title if title.is_titled() || title.is_from_heading_above() => 1.0,
        _ => 0.0,
    };
    long + heading - if title.is_counted() { 2.0 } else { 0.0 }
}

/// The score of its URL.
fn url_score(candidate: &Candidate) -> f64 {
    let address = &candidate.address;
    let evidence = [
        (address.dated, 1.5),
        (address.article, 0.5),
        (address.below, 0.5),
        (address.numbered, 0.5),
        (candidate.is_listing(), -4.0),
        (address.service, -1.5),
        (address.sibling, -0.7),
        (!address.same_site, -2.0),
    ];
    0.35 * address.word_count.min(6) as f64 + sum(&evidence)
}

/// The score of its region.
fn region_score(region: Region) -> f64 {
    sum(&[
        (region.is(Region::MENU), -4.0),
        (region.is(Region::FOOTER), -4.0),
        (region.is(Region::SERVICE), -2.0),
        (region.is(Region::COMMENTS), -2.0),
        (region.is(Region::SIDEBAR), -2.5),
        (region.is(Region::RELATED), -1.5),
        (region.is(Region::BYLINE), -1.0),
    ])
}

/// The penalty for products and jobs.
fn offer_penalty(evidence: &LinkEvidence<'_>) -> f64 {
    sum(&[
        (evidence.candidate.address.offer, 3.0),
        (evidence.candidate.region.is(Region::OFFER), 2.0),
        (evidence.item.price, 2.0),
        (evidence.listed_as_other, 3.0),
    ])
}

/// Whether it is more likely a product or job: news with a price also has a date.
fn is_offer(evidence: &LinkEvidence<'_>) -> bool {
    let penalty = offer_penalty(evidence);
    penalty > 2.0 || (penalty > 0.0 && !evidence.item.timed)
}

fn sum(evidence: &[(bool, f64)]) -> f64 {
    evidence.iter().filter(|(so, _)| *so).map(|(_, points)| points).sum()
}

/// Half of the score is the mean of the link's list, and long lists get a bonus.
fn with_lists(evidence: &[LinkEvidence<'_>], own: &[f64]) -> Vec<f64> {
    let key = |evidence: &LinkEvidence<'_>| {
        (evidence.item.list, evidence.candidate.address.same_site, evidence.candidate.prose)
    };
    let mut lists: HashMap<_, (f64, f64)> = HashMap::new();
    for (evidence, points) in evidence.iter().zip(own) {
        let (sum, count) = lists.entry(key(evidence)).or_default();
        *sum += points;
        *count += 1.0;
    }
    let joined = |(evidence, points): (&LinkEvidence<'_>, &f64)| {
        let (sum, count) = lists.get(&key(evidence)).copied().unwrap_or((*points, 1.0));
        (points + sum / count) / 2.0 + (count.log2() / 4.0).min(1.0)
    };
    evidence.iter().zip(own).map(joined).collect()
}

/// The mean of the best scores.
fn best(points: &[f64]) -> f64 {
    let mut sorted = points.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted.iter().take(BEST_COUNT).map(|points| points.max(0.0)).sum::<f64>() / BEST_COUNT as f64
}

/// Whether most links with a sufficient score are products or jobs.
fn is_mostly_offers(evidence: &[LinkEvidence<'_>], points: &[f64]) -> bool {
    let (mut products, mut others) = (0, 0);
    for (evidence, points) in evidence.iter().zip(points) {
        match is_offer(evidence) {
            true if points + offer_penalty(evidence) >= MIN_SCORE => products += 1,
            false if *points >= MIN_SCORE => others += 1,
            _ => {}
        }
    }
    products > others
}
