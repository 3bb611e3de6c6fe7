//! Recognises products and jobs: prices, buttons to buy or apply. Words that are also used in articles are not
//! considered.

/// Longer texts are neither a price nor a button.
const MAX_BYTES: usize = 40;

/// Whether a short text contains an amount of money, or is a button to buy or apply.
pub(super) fn is_offer(text: &str) -> bool {
    text.len() <= MAX_BYTES && (is_price(text) || is_button(text))
}

fn is_price(text: &str) -> bool {
    const SIGNS: [char; 6] = ['$', '€', '£', '¥', '₹', '₽'];
    let digit = |c: char| c.is_ascii_digit();
    let beside = |at: usize, sign: char| {
        let after = text.get(at + sign.len_utf8()..).unwrap_or_default().trim_start();
        let before = text.get(..at).unwrap_or_default().trim_end();
        after.starts_with(digit) || before.ends_with(digit)
    };
    // Some pages separate the sign from the amount.
    let alone = text.chars().count() == 1 && text.starts_with(SIGNS);
    alone || text.char_indices().any(|(at, c)| SIGNS.contains(&c) && beside(at, c))
}

fn is_button(text: &str) -> bool {
    #[rustfmt::skip]
    const BUTTONS: [&str; 21] = [
        "add to bag", "add to basket", "add to cart", "add to compare", "add to wishlist", "apply now",
        "book now", "buy now", "choose options", "get coupon", "in den warenkorb", "in stock",
        "out of stock", "quick view", "request a quote", "select options", "shop now", "sold out",
        "view deal", "view job", "view product",
    ];
    let lower = text.to_ascii_lowercase();
    BUTTONS.iter().any(|button| lower.starts_with(button))
}
