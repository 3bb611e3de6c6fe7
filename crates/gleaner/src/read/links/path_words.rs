//! Words in URL paths, and what they say about the page. Words with different meanings on different sites, such as
//! `business` or `deals`, are left out.

/// Segments of lists, people and forms, where there are no articles.
#[rustfmt::skip]
pub(super) const LISTINGS: &[&str] = &[
    "about-us", "account", "accounts", "advertise", "auteur", "auth", "author", "authors", "autor", "cart",
    "cat", "categoria", "categorie", "categories", "category", "cdn-cgi", "checkout", "columnist",
    "columnists", "contact", "contact-us", "contributor", "contributors", "cookie-policy", "cookies",
    "disclaimer", "etiqueta", "favorites", "feeds", "followers", "genre", "genres", "hashtag", "impressum",
    "intent", "kategorie", "kategorien", "keyword", "keywords", "login", "logout", "masthead", "memberlist",
    "my-account", "password", "privacy-policy", "profile", "profiles", "register", "rss", "rubrik",
    "rubrique", "schlagwort", "search", "settings", "sign-in", "sign-up", "signin", "signup", "sitemap",
    "subscription", "subscriptions", "tag", "tagged", "tags", "tema", "terms", "terms-of-service",
    "terms-of-use", "thema", "user", "users", "wp-admin", "wp-login.php", "writer", "writers",
];

/// The same, unless a title follows.
#[rustfmt::skip]
pub(super) const SHORT_LISTINGS: &[&str] = &[
    "about", "advertising", "all", "by", "donate", "editor", "faq", "feed", "join", "label", "labels",
    "latest", "legal", "member", "members", "newsletter", "newsletters", "page", "pricing", "privacy",
    "section", "sections", "share", "subscribe",
];

/// Segments below which there are people, even if the page itself is below them. Names are short.
pub(super) const PEOPLE: &[&str] = &["people", "profile", "profiles", "staff", "team", "user", "users"];

/// Segments below which there are rarely articles, unless a title follows.
#[rustfmt::skip]
pub(super) const SERVICES: &[&str] = &[
    "api", "archive", "archives", "companies", "company", "customers", "docs", "documentation", "download",
    "downloads", "event", "events", "help", "industries", "industry", "integrations", "manual", "partners",
    "person", "platform", "podcasts", "reference", "series", "services", "show", "shows", "solution",
    "solutions", "support", "use-case", "use-cases", "wiki",
];

/// Segments below which there are articles.
pub(super) const ARTICLES: &[&str] = &[
    "article", "articles", "artikel", "blog", "news", "post", "posts", "story", "stories", "release",
    "releases", "review", "reviews", "recipe", "recipes", "thread", "threads",
];

/// Words of segments below which there are products or jobs.
#[rustfmt::skip]
pub(super) const OFFERS: &[&str] = &[
    "biz", "buy", "careers", "classified", "classifieds", "coupon", "coupons", "directory", "dp", "item",
    "items", "itm", "job", "jobs", "listing", "listings", "product", "product-category", "product-page",
    "product-tag", "producto", "productos", "products", "produit", "produits", "produkt", "produkte",
    "properties", "property", "shop", "vacancies", "vacancy",
];
