//! What the requests of verbs are on a file share: PicoShare's addresses, and ours, which are the
//! same. The server names what is put up.

use super::{
    About, Call, Carries, RequestKind, TakenBody, Uses, Verb, delete, get, head, list, post, put,
    wrong,
};
use crate::payload::GivenName;
use crate::settings::LoadSettings;
use crate::target::Service;
use serde::Deserialize;

/// The requests in place of calls; what is not here a share has not.
const ROWS: [(Call, &RequestKind); 6] = [
    (Call::Put, &PUT),
    (Call::Get, &GET),
    (Call::Head, &HEAD),
    (Call::Delete, &DELETE),
    (Call::List, &LIST),
    (Call::Post, &POST),
];

/// The request in place of a call; `None` where a share has none.
pub(super) fn row(call: Call) -> Option<&'static RequestKind> {
    let mut rows = ROWS.iter();
    rows.find(|(of, _)| *of == call).map(|(_, row)| *row)
}

impl Call {
    /// The request as it is on a service.
    pub(crate) fn on(self, service: &Service) -> &'static RequestKind {
        match service {
            Service::Share => row(self).unwrap_or(self.request()),
            Service::S3 { .. } | Service::Http { .. } => self.request(),
        }
    }
}

impl Verb {
    /// Whether a file share has all its requests.
    pub(crate) fn works_on_a_share(&self) -> bool {
        let has_row = |call: &Call| row(*call).is_some();
        self.uses != Uses::Target && self.calls.iter().all(has_row)
    }
}

/// An upload that stays until it is deleted.
const PUT: RequestKind = RequestKind {
    method: "POST",
    path: |_, _, out| out.extend_from_slice(b"/api/entry"),
    query: |_, _, out| out.extend_from_slice(b"expiration=2999-12-31T00%3A00%3A00Z"),
    carries: Carries::Form,
    takes: TakenBody::Name,
    proof: |_, answer| match name_of(answer.body) {
        Some(_) => Ok(()),
        None => Err(wrong("the answer to an upload names none")),
    },
    ..put::PUT
};

const GET: RequestKind = RequestKind {
    path: path_of_upload,
    ..get::GET
};

const HEAD: RequestKind = RequestKind {
    path: path_of_upload,
    ..head::HEAD
};

const DELETE: RequestKind = RequestKind {
    path: |_, about, out| named(b"/api/entry/", about, out),
    ..delete::DELETE
};

/// The page that lists what there is.
const LIST: RequestKind = RequestKind {
    path: |_, _, out| out.extend_from_slice(b"/files"),
    query: |_, _, _| (),
    takes: TakenBody::Text,
    proof: |_, answer| match answer.body.trim_ascii_end() {
        whole if whole.ends_with(b"</html>") => Ok(()),
        _ => Err(wrong("the answer is no page")),
    },
    ..list::LIST
};

/// An upload by a guest link.
const POST: RequestKind = RequestKind {
    path: |settings, _, out| {
        out.extend_from_slice(b"/api/guest/");
        out.extend_from_slice(settings.guest.as_bytes());
    },
    ..post::POST
};

fn named(before: &[u8], about: &About<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(before);
    if let Some(object) = &about.object {
        out.extend_from_slice(object.given.bytes());
    }
}

fn path_of_upload(_: &LoadSettings, about: &About<'_>, out: &mut Vec<u8>) {
    named(b"/-", about, out);
}

#[derive(Deserialize)]
struct NamedUpload {
    id: String,
}

/// The name that an answer gives.
pub(crate) fn name_of(body: &[u8]) -> Option<GivenName> {
    let named: NamedUpload = serde_json::from_slice(body).ok()?;
    GivenName::parse(&named.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_from_an_answer_that_has_one() {
        let name = name_of(br#"{"id":"aBc2345678"}"#).unwrap();
        assert_eq!(name.bytes(), b"aBc2345678");
        for body in [
            &b""[..],
            b"{}",
            br#"{"id":""}"#,
            br#"{"id":"../x"}"#,
            b"<html>",
        ] {
            assert_eq!(name_of(body), None);
        }
    }

    #[test]
    fn kinds_have_the_names_that_they_have_elsewhere() {
        for call in super::super::CALLS {
            if let Some(row) = row(*call) {
                assert_eq!(row.name, call.request().name);
            }
        }
    }
}
