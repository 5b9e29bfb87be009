//! Kinds of requests, as records name them.

/// One kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Put,
    Get,
    Head,
    Delete,
    List,
    Post,
    MultipartCreate,
    MultipartPart,
    MultipartComplete,
    MultipartAbort,
    /// Making, finding and removing the bucket; in setup and teardown only.
    Bucket,
}

pub(crate) const ALL: [Call; 11] = [
    Call::Put,
    Call::Get,
    Call::Head,
    Call::Delete,
    Call::List,
    Call::Post,
    Call::MultipartCreate,
    Call::MultipartPart,
    Call::MultipartComplete,
    Call::MultipartAbort,
    Call::Bucket,
];

pub(crate) const NAMES: [&str; 11] = [
    "put",
    "get",
    "head",
    "delete",
    "list",
    "post",
    "multipart_create",
    "multipart_part",
    "multipart_complete",
    "multipart_abort",
    "bucket",
];

impl Call {
    /// Position in [`ALL`] and [`NAMES`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES[self.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_stands_at_its_own_index() {
        assert!(
            ALL.into_iter()
                .enumerate()
                .all(|(index, call)| call.index() == index)
        );
        assert_eq!(
            (
                Call::Head.name(),
                Call::MultipartComplete.name(),
                Call::Bucket.name()
            ),
            ("head", "multipart_complete", "bucket")
        );
    }
}
