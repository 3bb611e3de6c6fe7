//! Sources in the API: responses, and the schemas that are derived from the table of source fields.

use std::borrow::Cow;

use gleaner_core::elsewhere::Proposal;
use gleaner_core::health::Status;
use gleaner_core::source::Kind;
use gleaner_core::suspect::Suspected;
use gleaner_core::time::Time;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::openapi::schema::{
    KnownFormat, Object, ObjectBuilder, OneOfBuilder, SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::service::{SameUrl, Source, SourceFilter};
use crate::source_fields::{Edited, LONGEST_TEXT, LONGEST_URL, SOURCE_FIELDS, SourceField, Takes};
use crate::web::params::Params;
use crate::web::{Limit, Problem};

/// A source.
#[derive(Serialize)]
pub(super) struct SourceResponse {
    /// The fields of the table that are not secret, and of the secret ones whether they are set.
    #[serde(flatten)]
    fields: Map<String, Value>,
    #[serde(flatten)]
    state: SourceStateResponse,
}

/// What gleaner itself keeps of a source.
#[derive(Serialize, ToSchema)]
struct SourceStateResponse {
    id: i64,
    #[schema(value_type = StatusName)]
    status: Status,
    consecutive_failures: u32,
    /// `transient` or `permanent`.
    last_failure_type: Option<&'static str>,
    last_error_type: Option<&'static str>,
    last_error: Option<String>,
    last_status_code: Option<u16>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Time>,
    /// The host incident or network outage because of which the latest failure does not count; null: it counts.
    excused_by: Option<String>,
    /// Why a policy disabled the source; null: it is enabled, or a person disabled it.
    disabled_reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    quarantined_at: Option<Time>,
    quarantine_reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    retry_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_polled_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_success_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_poll_at: Option<Time>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
    /// Host of its URL.
    host: String,
    /// Number of edits; the `ETag` is made of it.
    version: i64,
    /// What seems to be wrong although it answers; null: nothing.
    suspect: Option<Suspect>,
    /// Another URL, to be used by a person: what a dead feed's site advertises, or where a source with a credential is
    /// permanently redirected; null: nothing is known.
    proposal: Option<ProposalResponse>,
    /// Article pages that were not fetched yet.
    pages_waiting: u32,
    /// Article pages that failed and are tried again.
    pages_failed: u32,
    /// Article pages that were given up.
    pages_given_up: u32,
}

impl From<Source> for SourceResponse {
    fn from(source: Source) -> Self {
        let health = source.health;
        let status = health.status();
        let mut fields = source.settings.to_json();
        fields.insert("enabled".to_owned(), health.disabled.is_none().into());
        fields.insert("has_credential".to_owned(), source.settings.secret.is_some().into());
        let (failing, quarantine) = (health.failing, health.quarantine);
        let state = SourceStateResponse {
            id: source.id,
            status,
            consecutive_failures: failing.as_ref().map_or(0, |failing| failing.count),
            last_failure_type: failing.as_ref().map(|failing| failing.class().name()),
            last_error_type: failing.as_ref().map(|failing| failing.kind.name()),
            last_status_code: failing.as_ref().and_then(|failing| failing.status),
            failing_since: failing.as_ref().map(|failing| failing.since),
            excused_by: failing.as_ref().and_then(|failing| failing.excused_by.clone()),
            last_error: failing.map(|failing| failing.message),
            disabled_reason: health.disabled.and_then(|disabled| disabled.reason),
            quarantined_at: quarantine.as_ref().map(|quarantine| quarantine.at),
            retry_at: quarantine.as_ref().and_then(|quarantine| quarantine.retry_at),
            quarantine_reason: quarantine.map(|quarantine| quarantine.reason),
            last_polled_at: health.last_polled_at,
            last_success_at: health.last_success_at,
            next_poll_at: source.next_poll_at,
            created_at: source.created_at,
            updated_at: source.updated_at,
            host: source.host,
            version: source.version,
            suspect: source.suspect.or(source.pages_suspect).map(Suspect::from),
            proposal: source.elsewhere.and_then(|elsewhere| elsewhere.proposal).map(ProposalResponse::from),
            pages_waiting: source.pages.waiting,
            pages_failed: source.pages.failed,
            pages_given_up: source.pages.given_up,
        };
        Self { fields, state }
    }
}

impl PartialSchema for SourceResponse {
    fn schema() -> RefOr<Schema> {
        let mut source = match SourceStateResponse::schema() {
            RefOr::T(Schema::Object(state)) => state,
            _ => Object::new(),
        };
        source.description = Some("A source.".to_owned());
        for field in SourceField::editable() {
            let (name, schema) = match field.secret {
                true => (format!("has_{}", field.name), flag(format!("Whether {} is set.", field.name))),
                false => (field.name.to_owned(), field_schema(field, false)),
            };
            source.required.push(name.clone());
            source.properties.insert(name, schema);
        }
        source.into()
    }
}

impl ToSchema for SourceResponse {
    fn name() -> Cow<'static, str> {
        "Source".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        SourceStateResponse::schemas(schemas);
    }
}

/// Defines a request of source fields, whose schema is derived from the table. The body itself is read field by field, so
/// that everything that is wrong is reported at once.
macro_rules! fields_request {
    ($(#[doc = $about:literal])+ $name:ident as $schema:literal, $fields:expr, required: $required:expr) => {
        $(#[doc = $about])+
        pub(super) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let about = concat!($($about),+).trim();
                fields_schema(about, $fields, $required).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $schema.into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((SourceCredential::name().into_owned(), SourceCredential::schema()));
            }
        }
    };
}

fields_request! {
    /// A source to be created.
    SourceCreateRequest as "NewSource", SourceField::editable(), required: &["url"]
}
fields_request! {
    /// Fields of a source to change: a field that is not sent stays as it is, and null is the default again.
    SourceEditRequest as "SourceFields", SourceField::editable(), required: &[]
}
fields_request! {
    /// Fields to set of many sources at once.
    BulkFieldsRequest as "BulkFields", SOURCE_FIELDS.iter().filter(|field| field.edited == Edited::Bulk), required: &[]
}

fn fields_schema<'a>(
    about: &str,
    fields: impl Iterator<Item = &'a SourceField>,
    required: &[&str],
) -> Object {
    let mut object = ObjectBuilder::new().description(Some(about));
    for field in fields {
        object = object.property(field.name, field_schema(field, true));
    }
    for name in required {
        object = object.required(*name);
    }
    object.build()
}

fn flag(description: String) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Boolean).description(Some(description)).into()
}

/// Schema of a field; a request may have more than a response, such as names of other programs.
fn field_schema(field: &SourceField, is_request: bool) -> RefOr<Schema> {
    let default = match field.default_description().as_str() {
        "required" => String::new(),
        other => format!(" Default: {other}."),
    };
    let flags = match (field.values)().iter().any(Value::is_boolean) {
        true => " `false` is none, `true` is all.",
        false => "",
    };
    let description = format!("{}.{default}{flags}", field.description());
    let types = |types: &[Type]| {
        let mut types = types.to_vec();
        types.extend(field.nullable.then_some(Type::Null));
        match types.as_slice() {
            [one] => SchemaType::Type(one.clone()),
            _ => SchemaType::Array(types),
        }
    };
    let object = ObjectBuilder::new().description(Some(description.clone()));
    let text = |object: ObjectBuilder, longest: usize| {
        object.schema_type(types(&[Type::String])).max_length(is_request.then_some(longest))
    };
    match field.takes {
        Takes::Url => text(object, LONGEST_URL).into(),
        Takes::Text | Takes::CssSelector | Takes::Policy => text(object, LONGEST_TEXT).into(),
        Takes::Flag => object.schema_type(types(&[Type::Boolean])).into(),
        Takes::Collection => {
            let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
            object.schema_type(types(&[Type::Integer])).format(Some(format)).into()
        }
        Takes::Seconds(most) => {
            object.schema_type(types(&[Type::Integer])).minimum(Some(0)).maximum(Some(most as f64)).into()
        }
        Takes::Choice { choices, synonyms } => {
            let mut values = (field.values)();
            if is_request {
                let names = choices.iter().map(|choice| choice.value).chain(synonyms.iter().copied());
                for name in names.map(Value::from) {
                    if !values.contains(&name) {
                        values.push(name);
                    }
                }
            }
            let has_flags = values.iter().any(Value::is_boolean);
            values.extend(field.nullable.then_some(Value::Null));
            let all = if has_flags { &[Type::String, Type::Boolean][..] } else { &[Type::String] };
            object.schema_type(types(all)).enum_values(Some(values)).into()
        }
        Takes::Interval(most) => OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(most as f64)))
            .item(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["auto"])))
            .item(ObjectBuilder::new().schema_type(Type::Null))
            .description(Some(description))
            .into(),
        Takes::Credential => OneOfBuilder::new()
            .item(Ref::from_schema_name(SourceCredential::name()))
            .item(ObjectBuilder::new().schema_type(Type::Null))
            .description(Some(description))
            .into(),
    }
}

/// A source that was added.
#[derive(Serialize, ToSchema)]
pub(super) struct CreatedSource {
    #[serde(flatten)]
    pub(super) source: SourceResponse,
    /// Sources with the same URL in other collections: each is polled separately. Delete one if one is enough.
    pub(super) also_in: Vec<SameUrlResponse>,
}

/// A source with the same URL in another collection.
#[derive(Serialize, ToSchema)]
pub(super) struct SameUrlResponse {
    source_id: i64,
    collection_id: i64,
    collection: String,
}

impl From<SameUrl> for SameUrlResponse {
    fn from(SameUrl { source_id, collection_id, collection }: SameUrl) -> Self {
        Self { source_id, collection_id, collection }
    }
}

/// What seems to be wrong with a source although it answers. Polling goes on, and it does not count as a failure.
#[derive(Serialize, ToSchema)]
pub(super) struct Suspect {
    #[schema(value_type = SuspectReason)]
    reason: &'static str,
    /// Evidence when it was first noticed, for people.
    evidence: String,
    #[schema(value_type = String, format = DateTime)]
    since: Time,
}

impl From<Suspected> for Suspect {
    fn from(Suspected { reason, evidence, since }: Suspected) -> Self {
        Self { reason: reason.name(), evidence, since }
    }
}

/// Another URL for a source. `PATCH` the source with this `url` to use it.
#[derive(Serialize, ToSchema)]
#[schema(as = Proposal)]
pub(super) struct ProposalResponse {
    url: String,
    /// Title on its site.
    title: Option<String>,
    /// First seen.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// `advertised`: a dead feed's site names it. `redirected`: the source is permanently redirected there, and has a
    /// credential, which is for its own origin only.
    reason: &'static str,
}

impl From<Proposal> for ProposalResponse {
    fn from(Proposal { url, title, since, reason }: Proposal) -> Self {
        Self { url, title, since, reason: reason.name() }
    }
}

/// Reasons for suspicion.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "schema of a type of the core")]
pub(super) enum SuspectReason {
    /// Nothing new for much longer than usual.
    Frozen,
    /// No entries where there were some.
    Empty,
    /// A page that asks to log in.
    LoginWall,
    /// A page that asks to prove that one is human.
    BotWall,
    /// The domain is for sale.
    Parked,
    /// A page where there was a feed.
    BecameHtml,
    /// The latest ten article pages all failed.
    PagesFailing,
    /// Documents that end early, one after another.
    EndsEarly,
}

/// Status of a source.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "schema of a type of the core")]
pub(super) enum StatusName {
    Disabled,
    Quarantined,
    Failing,
    Pending,
    Healthy,
}

/// Kind of a source; `rss` and `atom` are read as `feed`, `twitter` as `x`.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "schema of a type of the core")]
pub(super) enum KindName {
    Feed,
    Rss,
    Atom,
    Website,
    Watchlist,
    X,
    Twitter,
}

/// Credential of a source: encrypted, sent to the source's own origin only, and never shown.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "schema of what is read field by field")]
pub(super) enum SourceCredential {
    /// Basic authentication.
    Basic { user: String, password: String },
    /// One header.
    Header { name: String, value: String },
}

/// Which sources.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "schema of what is read one by one")]
pub(super) struct SourceQuery {
    /// Of this status.
    #[param(inline)]
    status: Option<StatusName>,
    /// Of this kind.
    #[param(inline)]
    kind: Option<KindName>,
    /// On this host.
    host: Option<String>,
    /// In this collection.
    collection_id: Option<i64>,
    /// With this text in URL or name.
    q: Option<String>,
    /// Only those that are enabled and not cooling down.
    feed_active: Option<bool>,
    /// Only suspects: those that answer but look broken.
    suspect: Option<bool>,
}

/// Filter and page of a list of sources.
pub(super) fn source_query(mut params: Params, now: Time) -> Result<(SourceFilter, Limit), Box<Problem>> {
    let limit = params.limit();
    let filter = filter(&mut params, now);
    params.done()?;
    Ok((filter, limit))
}

fn filter(params: &mut Params, now: Time) -> SourceFilter {
    SourceFilter {
        status: params.one("status", status),
        kind: params.read::<Kind>("kind"),
        host: params.text("host"),
        collection_id: params.read("collection_id"),
        text: params.text("q").filter(|text| !text.trim().is_empty()),
        active_at: params.read::<bool>("feed_active").filter(|active| *active).map(|_| now),
        suspect: params.read::<bool>("suspect").unwrap_or_default(),
        ..SourceFilter::default()
    }
}

fn status(name: &str) -> Result<Status, String> {
    let found = Status::ALL.into_iter().find(|status| status.name() == name);
    found.ok_or_else(|| {
        let (shown, names) = (name.chars().take(60).collect::<String>(), Status::ALL.map(Status::name));
        format!("there is no status '{shown}'; there are {}", names.join(", "))
    })
}
