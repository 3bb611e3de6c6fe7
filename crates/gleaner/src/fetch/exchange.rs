//! One request whose answer is read whatever its status: behind the same guard and within the same limits as what is fetched.
//!
//! Absent on purpose: redirects, and a second try. Both could send a secret twice, or to somebody else.

use gleaner_core::classify::Fault;
use gleaner_core::time::Time;
use hyper::http::{Request, Response};
use url::Url;

use super::types::FetchError;
use super::{Fetcher, body};

/// The largest answer.
const ANSWER_BYTES: u64 = 1 << 20;

impl Fetcher {
    /// Sends a request and reads the answer.
    pub async fn exchange(
        &self,
        request: Request<Vec<u8>>,
        now: Time,
    ) -> Result<Response<Vec<u8>>, FetchError> {
        let (parts, sent) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string())
            .map_err(|_| Fault::Other(format!("{} is no URL", parts.uri)))?;
        let exchanged = async {
            let build = |client: &reqwest::Client| {
                let request = client.request(parts.method.clone(), url.clone());
                Ok(request.headers(parts.headers.clone()).body(sent.clone()))
            };
            let answer = self.send_checked(&url, false, build).await?;
            let mut response = Response::new(Vec::new());
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.headers().clone();
            *response.body_mut() =
                body::read(answer, ANSWER_BYTES, self.connect_timeout).await?.bytes.to_vec();
            Ok(response)
        };
        self.with_timeout(now, exchanged).await
    }
}
