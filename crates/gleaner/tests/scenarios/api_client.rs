//! The API of a scenario's world, over real HTTP.

use std::sync::Arc;

use gleaner::service::{Actor, Scope, Service};
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::api::client::{Answer, answer, http_client, listen};

/// A server of the API on a port of its own, with a client that may do everything.
pub(super) struct ApiClient {
    base: String,
    token: String,
    client: reqwest::Client,
    server: JoinHandle<std::io::Result<()>>,
}

impl Drop for ApiClient {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl ApiClient {
    pub(super) async fn start(service: &Arc<Service>, actor: &Actor) -> Self {
        let (base, server) = listen("127.0.0.1:0", service, &Arc::new(Notify::new())).await;
        // Scenarios last for months.
        let lasts = Span::from_days(3650);
        let granted = service.by(actor).create_token("all", &[Scope::Read, Scope::Write], lasts).await;
        let token = granted.unwrap().secret.expose().to_owned();
        Self { base, token, client: http_client(), server }
    }

    /// Sends a request with the token, below `/api/v1`.
    pub(super) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let request = self.client.request(method, format!("{}/api/v1{path}", self.base));
        let request = match body {
            None => request,
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        };
        answer(request.bearer_auth(&self.token)).await
    }

    /// The body of a successful GET below `/api/v1`.
    pub(super) async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, None).await.is(200).clone()
    }

    /// The body of a successful PATCH below `/api/v1`.
    pub(super) async fn patch(&self, path: &str, body: Value) -> Value {
        self.send(Method::PATCH, path, Some(body)).await.is(200).clone()
    }

    /// Whether the process answers at all, asked without a token.
    pub(super) async fn healthz(&self) -> u16 {
        answer(self.client.get(format!("{}/healthz", self.base))).await.status
    }
}
