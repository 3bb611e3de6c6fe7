//! The door: logging in by a link or a password, a cookie from then on, and forms that only our own pages can send.

use askama::Template;
use axum::Extension;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Form, Query, Request, State};
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use gleaner_core::time::Span;
use serde::Deserialize;

use super::entry::{Entered, enter};
use super::shell::LetIn;
use super::step_up::{SentForm, StepUpRequired};
use super::{Oops, Page, Visit, assets, words};
use crate::config::secret::Secret;
use crate::service::{DEVICE_LASTS, LoggedIn, Login, ServiceError};
use crate::web::auth::{address_of, authenticated};
use crate::web::connections::ClientAddress;
use crate::web::proxy_user::Head;
use crate::web::{Problem, Web};

/// The cookie of a session.
pub(super) const SESSION: &str = "gleaner_session";
/// The cookie that makes a browser known at the next login.
const DEVICE: &str = "gleaner_device";
/// What one page has to say on the next.
const SAID: &str = "gleaner_said";
/// A browser stays logged in so long: a dashboard is left open.
pub(super) const LASTS: Span = Span::from_days(30);
/// The largest form; files are sent by themselves.
const LARGEST_FORM: usize = 1 << 20;
/// What carries a form's token where it is not a field of it.
const FORM_TOKEN: &str = "x-form-token";

/// Lets in who has a session; and forms, where they come from our own pages.
pub(super) async fn let_in(State(web): State<Web>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let by_script = headers.contains_key("hx-request");
    let Entered { actor, session, is_new } = match enter(&web, Head::of(&request)).await {
        Ok(Some(entered)) => entered,
        Ok(None) => return to_login(&request),
        Err(oops) => return oops.into_response(),
    };
    authenticated(&request);
    let form_token = match web.service.form_token(&session) {
        Ok(token) => token,
        Err(error) => return Oops::from(error).into_response(),
    };
    // What only renews a part of a page leaves what was said to the next whole one.
    let said = cookie(headers, SAID).filter(|_| !by_script).map(|text| decoded(&text));
    let had_said = said.is_some();
    let (mut request, form) = match checked(request, &form_token).await {
        Ok(checked) => checked,
        Err(oops) => return oops.into_response(),
    };
    let mut let_in = LetIn { actor: actor.at(address_of(&request)), form_token, said };
    let mut form = form.map(|body| SentForm::of(&request, &body));
    if let Some(sent) = &mut form
        && let Some(proof) = sent.take_proof()
    {
        match web.service.by(&let_in.actor).confirm(proof).await {
            Ok(actor) => let_in.actor = actor,
            Err(error) => {
                let visit = Visit::of(&web, let_in);
                return form.unwrap_or_default().ask_again(&visit, error).await;
            }
        }
        request = sent.put_into(request);
    }
    request.extensions_mut().insert(let_in.clone());
    let mut response = next.run(request).await;
    if let (Some(StepUpRequired(why)), Some(form)) = (response.extensions().get().cloned(), form) {
        response = form.ask(&Visit::of(&web, let_in), &why).await;
    }
    if had_said && !response.headers().contains_key(SET_COOKIE) {
        set_cookie(&mut response, &web, SAID, "", 0);
    }
    if is_new {
        set_cookie(&mut response, &web, SESSION, &session, LASTS.as_millis() / 1000);
    }
    response
}

/// Refuses what changes something and does not carry the token of our forms. Returns the form with it, where it is one.
async fn checked(request: Request, form_token: &str) -> Result<(Request, Option<Bytes>), Oops> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok((request, None));
    }
    let same = |token: &str| token.len() == form_token.len() && constant_time_eq(token, form_token);
    let headers = request.headers();
    let ours = headers.get(FORM_TOKEN).and_then(|value| value.to_str().ok()).is_some_and(same);
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return if ours { Ok((request, None)) } else { Err(Oops::foreign()) };
    }
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, LARGEST_FORM).await.map_err(|_| Oops::foreign())?;
    let mut fields = url::form_urlencoded::parse(&bytes);
    let ours = ours || fields.any(|(name, value)| name == "form_token" && same(&value));
    let form = bytes.clone();
    if ours { Ok((Request::from_parts(parts, Body::from(bytes)), Some(form))) } else { Err(Oops::foreign()) }
}

/// Takes as long whatever the texts say.
fn constant_time_eq(one: &str, other: &str) -> bool {
    one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn to_login(request: &Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let login = match path {
        "/" => "/login".to_owned(),
        path if *request.method() == Method::GET => {
            let next: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
            format!("/login?next={next}")
        }
        _ => "/login".to_owned(),
    };
    if request.headers().contains_key("hx-request") {
        // A part of a page is asked for by a script: the whole page goes.
        let headers = [("hx-redirect", login)];
        return (StatusCode::UNAUTHORIZED, headers).into_response();
    }
    Redirect::to(&login).into_response()
}

/// What the page to log in shows.
#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    /// The code of a link.
    code: Option<String>,
    /// Where to go then.
    next: String,
    /// What was wrong.
    wrong: Option<String>,
    name: String,
    /// The text of the button for OpenID Connect, where that is set up.
    oidc_button: Option<String>,
}

impl LoginPage {
    fn new(web: &Web, code: Option<String>, next: String) -> Self {
        let oidc_button = web.service.config().oidc.as_ref().map(|oidc| oidc.button.clone());
        Self { code, next, wrong: None, name: String::new(), oidc_button }
    }

    /// The page to go on to, as a parameter of a URL.
    fn encoded_next(&self) -> String {
        url::form_urlencoded::byte_serialize(self.next.as_bytes()).collect()
    }

    fn asset(&self, name: &str) -> String {
        assets::address(name)
    }
}

/// What is in the address of the page to log in.
#[derive(Deserialize)]
pub(super) struct Asked {
    code: Option<String>,
    next: Option<String>,
}

/// The page to log in. A link only shows a button: whatever looks at links before people do, uses none up.
pub(super) async fn page(
    State(web): State<Web>,
    headers: HeaderMap,
    Query(Asked { code, next }): Query<Asked>,
) -> Response {
    let next = inside(next);
    if let Some(session) = cookie(&headers, SESSION)
        && code.is_none()
        // A session of the proxy's may be worth nothing on this way here, and would lead back at once.
        && web.service.actor(&session).await.is_ok_and(|actor| !actor.is_by_proxy())
    {
        return Redirect::to(&next).into_response();
    }
    Page(LoginPage::new(&web, code, next)).into_response()
}

/// What the form to log in says.
#[derive(Deserialize)]
pub(super) struct FormInput {
    code: Option<String>,
    name: Option<String>,
    password: Option<String>,
    next: Option<String>,
}

/// Logs in.
pub(super) async fn log_in(
    State(web): State<Web>,
    client: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
    Form(given): Form<FormInput>,
) -> Response {
    if !of_our_own(&web, &headers) {
        return Oops::foreign().into_response();
    }
    let FormInput { code, name, password, next } = given;
    let (next, name) = (inside(next), name.unwrap_or_default());
    let login = match &code {
        Some(code) => Login::Link(Secret::new(code.clone())),
        None => Login::Password {
            name: name.clone(),
            password: Secret::new(password.unwrap_or_default()),
            address: client.map(|Extension(ClientAddress(address))| address),
            device: cookie(&headers, DEVICE).map(Secret::new),
        },
    };
    let address = client.map(|Extension(ClientAddress(address))| address);
    match web.service.log_in_from(address, login, LASTS).await {
        Ok(logged_in) => logged_in_to(&web, &logged_in, &next),
        Err(error) => not_logged_in(&web, error, next, name),
    }
}

/// Goes on to a page with the cookies of a new session.
pub(super) fn logged_in_to(web: &Web, logged_in: &LoggedIn, next: &str) -> Response {
    let mut response = Redirect::to(next).into_response();
    let seconds = |span: Span| span.as_millis() / 1000;
    set_cookie(&mut response, web, SESSION, logged_in.granted.secret.expose(), seconds(LASTS));
    set_cookie(&mut response, web, DEVICE, logged_in.device.expose(), seconds(DEVICE_LASTS));
    response
}

/// The page to log in, with what went wrong.
pub(super) fn not_logged_in(web: &Web, error: ServiceError, next: String, name: String) -> Response {
    match error {
        error @ (ServiceError::Unauthenticated(_)
        | ServiceError::TooMany(_)
        | ServiceError::Busy(_)
        | ServiceError::Unreachable { .. }
        | ServiceError::Invalid(_)) => {
            let wrong = Some(words::sentence(&error.to_string()));
            let problem = Problem::from(error);
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::UNAUTHORIZED);
            let name = name.chars().take(100).collect();
            let page = LoginPage { wrong, name, ..LoginPage::new(web, None, next) };
            let mut response = (status, Page(page)).into_response();
            if let Some(seconds) = problem.retry_after() {
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
            }
            response
        }
        error => Oops::from(error).into_response(),
    }
}

/// Logs out.
pub(super) async fn log_out(visit: Visit) -> Result<Response, Oops> {
    visit.by().log_out().await?;
    let mut response = Redirect::to("/login").into_response();
    set_cookie(&mut response, &visit.web, SESSION, "", 0);
    Ok(response)
}

/// Goes on to a page, which says this.
pub(super) fn go(web: &Web, to: &str, said: &str) -> Response {
    let mut response = Redirect::to(to).into_response();
    let said: String = said.chars().take(500).collect();
    let text: String = url::form_urlencoded::byte_serialize(said.as_bytes()).collect();
    set_cookie(&mut response, web, SAID, &text, 60);
    response
}

/// Where to go, if that is one of our own pages.
pub(super) fn inside(next: Option<String>) -> String {
    let ours = |path: &String| {
        path.starts_with('/') && !path.starts_with("//") && !path.contains(['\\', '\r', '\n', '\t'])
    };
    next.filter(ours).unwrap_or_else(|| "/".to_owned())
}

/// Whether a form comes from a page of our own, as the browser says. Old browsers and other programs say nothing.
pub(in crate::web) fn of_our_own(web: &Web, headers: &HeaderMap) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = header("sec-fetch-site") {
        return matches!(site, "same-origin" | "none");
    }
    let Some(origin) = header(ORIGIN.as_str()) else { return true };
    let host = header(HOST.as_str()).unwrap_or_default();
    let public = web.service.config().api.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/'));
    public == Some(origin) || origin.split_once("://").is_some_and(|(_, from)| from == host)
}

/// Has the browser known at the next login, after the password was changed.
pub(super) fn keep_device(visit: &Visit, response: &mut Response) -> Result<(), Oops> {
    let device = visit.by().renew_device()?;
    set_cookie(response, &visit.web, DEVICE, device.expose(), DEVICE_LASTS.as_millis() / 1000);
    Ok(())
}

pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, value)| *found == name && !value.is_empty()).map(|(_, value)| value.to_owned())
}

fn decoded(text: &str) -> String {
    let mut pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs.next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

/// Sets a cookie that no script reads and no other site sends along; for no seconds, it ends.
pub(super) fn set_cookie(response: &mut Response, web: &Web, name: &str, value: &str, seconds: u64) {
    let secure = web.service.config().api.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().append(SET_COOKIE, value);
    }
}
