//! Poller with reqwest.

use std::error::Error;
use std::fmt::{self, Display};

use feedbench_target::feed::{Answer, Poll};
use reqwest::header::RETRY_AFTER;
use reqwest::Client;

/// reqwest's own words are "error sending request for url"; the innermost cause says why.
struct Innermost(reqwest::Error);

impl Display for Innermost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cause: &dyn Error = &self.0;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        write!(out, "{cause}")
    }
}

async fn ask(client: &Client, url: &str) -> Result<Answer, reqwest::Error> {
    let response = client.get(url).send().await?;
    let retry_after = response.headers().get(RETRY_AFTER);
    Ok(Answer {
        status: response.status().as_u16(),
        retry_after: retry_after.and_then(|value| Some(value.to_str().ok()?.to_owned())),
        body: response.bytes().await?.into(),
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let poll = Poll::open();
    let builder = Client::builder()
        .no_proxy()
        .use_preconfigured_tls(poll.tls.clone());
    let builder = match poll.http2 {
        true => builder.http2_prior_knowledge(), // over TLS after ALPN
        false => builder.http1_only(),
    };
    let client = builder.build().expect("the settings agree with each other");
    let url = poll.url.clone();
    poll.follow(async || ask(&client, &url).await.map_err(Innermost))
        .await
}
