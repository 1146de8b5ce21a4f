//! A transport for tests: answers by address, and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::secret::Credential;
use crate::transport::{Fault, FaultKind, Method, Request, Response, Service, Transport};

/// Status, headers and body.
type Answer = (u16, Vec<(String, String)>, Vec<u8>);

/// Answers by address; what is not in it is 404.
#[derive(Default)]
pub(crate) struct Scripted {
    answers: BTreeMap<String, Answer>,
    pub(crate) credential: Option<Credential>,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl Scripted {
    /// Adds an answer with status 200 and a media type.
    pub(crate) fn with(self, url: &str, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.with_status(url, 200, &[("content-type", media_type)], body)
    }

    pub(crate) fn with_status(
        mut self,
        url: &str,
        status: u16,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.answers.insert(url.to_owned(), (status, headers, body.into()));
        self
    }

    /// Returns the addresses that were asked, in order.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.url.to_string()).collect()
    }
}

impl Transport for Scripted {
    fn send(&self, request: &Request) -> Result<Response, Fault> {
        self.asked.lock().unwrap().push(request.clone());
        let (status, headers, body) = self.answers.get(request.url.as_str()).cloned().unwrap_or((
            404,
            vec![("content-type".to_owned(), "application/json".to_owned())],
            b"{}".to_vec(),
        ));
        if body.len() as u64 > request.limit && request.method != Method::Head {
            return Err(Fault::new(FaultKind::TooLarge, &request.url, "too long"));
        }
        let body = if request.method == Method::Head { Vec::new() } else { body };
        Ok(Response { status, headers, body, url: request.url.clone() })
    }

    fn credential(&self, _: Service<'_>) -> Option<Credential> {
        self.credential.clone()
    }
}
