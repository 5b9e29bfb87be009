//! The verbs of a scenario: what a user can do in a turn.
//!
//! What is known of a verb stands in a file of its own below this one: which requests it makes,
//! under which names records count them, how each is addressed and what it carries, what is taken
//! from the answer, which bytes count, what proves the answer right, on which services the verb
//! works, and what a user does. Its word in scenarios is the name of its file.
//!
//! A new verb is such a file, its `mod` line, and its line in the list.

mod copy;
mod delete;
mod fetch;
mod get;
mod head;
mod list;
mod multipart;
mod post;
mod proof;
mod put;
pub(crate) mod share;

use crate::failure::Failure;
use crate::payload::Object;
use crate::scenario::UserStep;
use crate::settings::{LoadSettings, write_key};
use crate::target::Service;
use crate::user::User;
pub(crate) use proof::GoodAnswer;
use proof::{has_length_of, is_what_was_asked, wrong};
use units::random::Random;

macro_rules! verbs {
    ($($(#[$about:meta])* $verb:ident: $file:ident [$($call:ident = $request:ident),*];)*) => {
        /// What a user does in one turn.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum StepKind {
            $($(#[$about])* $verb,)*
        }

        /// One kind of request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Call {
            $($($call,)*)*
        }

        /// Every kind of request, in the order of their counters.
        pub(crate) const CALLS: &[Call] = &[$($(Call::$call,)*)*];

        impl StepKind {
            pub(crate) const ALL: &[Self] = &[$(Self::$verb,)*];

            /// The word in scenarios.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$verb => stringify!($file),)*
                }
            }

            pub(crate) fn verb(self) -> &'static Verb {
                match self {
                    $(Self::$verb => &$file::VERB,)*
                }
            }
        }

        impl Call {
            pub(crate) fn request(self) -> &'static RequestKind {
                match self {
                    $($(Self::$call => &$file::$request,)*)*
                }
            }
        }

        /// Does it, with all its requests.
        pub(crate) async fn perform(user: &mut User, task: &Task<'_>) -> Result<(), Failure> {
            match task.kind {
                $(StepKind::$verb => $file::perform(user, task).await,)*
            }
        }
    };
}

verbs! {
    Put: put [Put = PUT];
    Get: get [Get = GET];
    Head: head [Head = HEAD];
    Delete: delete [Delete = DELETE];
    List: list [List = LIST];
    Copy: copy [Copy = COPY];
    Post: post [Post = POST];
    Multipart: multipart [
        MultipartCreate = CREATE,
        MultipartPart = PART,
        MultipartComplete = COMPLETE,
        MultipartAbort = ABORT
    ];
    Fetch: fetch [];
}

impl Call {
    /// Position among [`CALLS`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// What a verb is.
pub(crate) struct Verb {
    pub(crate) uses: Uses,
    /// The kinds of requests that it makes.
    pub(crate) calls: &'static [Call],
    pub(crate) services: Services,
    pub(crate) options: &'static [OwnOption],
    /// What cannot be done with a step's values.
    pub(crate) check: fn(&UserStep) -> Result<(), &'static str>,
}

impl Verb {
    /// One without options, that works everywhere.
    const fn of(uses: Uses, calls: &'static [Call]) -> Self {
        Self {
            uses,
            calls,
            services: Services::All,
            options: &[],
            check: |_| Ok(()),
        }
    }

    /// Whether it has an option of its own by this name.
    pub(crate) fn has_option(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.name == name)
    }
}

/// A key of a scenario's operation that not every verb has.
pub(crate) struct OwnOption {
    pub(crate) name: &'static str,
    /// Its value in records.
    pub(crate) text: fn(&UserStep) -> String,
}

/// What a verb is about, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    /// An object that the user makes.
    New,
    /// An object that the user makes of another.
    Copied,
    /// A file that the server names.
    Posted,
    /// An object that is there.
    Present,
    /// An object that is there, and afterwards not.
    Removed,
    /// The target's own URL.
    Target,
    /// The names of objects.
    Names,
}

impl Uses {
    /// Whether a scenario says of which size.
    pub(crate) fn has_size(self) -> bool {
        matches!(self, Self::New | Self::Posted)
    }

    /// Whether a scenario says from where the object is taken.
    pub(crate) fn has_source(self) -> bool {
        matches!(self, Self::Copied | Self::Present | Self::Removed)
    }

    /// Whether the user has an object afterwards that it can name.
    pub(crate) fn makes_object(self) -> bool {
        matches!(self, Self::New | Self::Copied)
    }

    /// Whether the object that is taken must be there.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Copied | Self::Present)
    }

    /// Whether it can follow on what another verb has made.
    pub(crate) fn follows(self) -> bool {
        matches!(self, Self::Present | Self::Removed)
    }
}

/// Words of the verbs of which something holds.
pub(crate) fn words(holds: fn(Uses) -> bool) -> String {
    let all = StepKind::ALL.iter();
    let words: Vec<_> = all
        .filter(|kind| holds(kind.verb().uses))
        .map(|kind| kind.word())
        .collect();
    words.join(", ")
}

/// On which services a verb works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Services {
    All,
    S3,
    Http,
}

/// What a user is to do: a verb, and what it is about.
pub(crate) struct Task<'a> {
    pub(crate) kind: StepKind,
    pub(crate) step: &'a UserStep,
    pub(crate) about: About<'a>,
    pub(crate) verify: bool,
    pub(crate) intended: Option<u64>,
}

/// Writes a part of a request.
pub(crate) type Writer = fn(&LoadSettings, &About<'_>, &mut Vec<u8>);

/// One kind of request.
pub(crate) struct RequestKind {
    /// In records and thresholds.
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    /// Writes the path, encoded.
    pub(crate) path: Writer,
    /// Writes the query, encoded, its names in order.
    pub(crate) query: Writer,
    /// A header of its own: its name in lower-case letters, and what writes its value.
    pub(crate) header: Option<(&'static str, Writer)>,
    pub(crate) carries: Carries,
    pub(crate) takes: TakenBody,
    pub(crate) counts: CountedBytes,
    /// Whether what it asks for is done where the server has nothing of this name.
    pub(crate) removes: bool,
    /// What proves that a successful answer is right, beyond the bytes of an object.
    pub(crate) proof: fn(&About<'_>, &GoodAnswer<'_>) -> Result<(), Failure>,
}

impl RequestKind {
    /// About an object, with nothing in it and nothing in its answer.
    const fn of(name: &'static str, method: &'static str) -> Self {
        Self {
            name,
            method,
            path: path_of_object,
            query: |_, _, _| (),
            header: None,
            carries: Carries::Text,
            takes: TakenBody::Nothing,
            counts: CountedBytes::Nothing,
            removes: false,
            proof: |_, _| Ok(()),
        }
    }
}

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// The text that it is about, if any.
    Text,
    /// The part of the object that it is about.
    Object,
    /// The object as the file of a form.
    Form,
}

/// What becomes of the body of a successful answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakenBody {
    Nothing,
    /// It is kept.
    Text,
    /// It is kept, and says by which name the server knows the object.
    Name,
    /// It is the object, which may be verified.
    Object,
}

/// Which bytes of a request are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedBytes {
    Nothing,
    /// Those of the object that it carries.
    Sent,
    /// Those of the answer's body.
    Received,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct About<'a> {
    /// Nothing is the target's own URL.
    pub(crate) object: Option<Object>,
    /// What the object is made of, where that is another.
    pub(crate) source: Option<Object>,
    /// The part of it that a request carries, or asks for.
    pub(crate) from: u64,
    pub(crate) length: u64,
    /// Whether it asks for this part alone.
    pub(crate) is_range: bool,
    /// The prefix whose keys are listed.
    pub(crate) prefix: u32,
    /// The multipart upload, and the number of its part.
    pub(crate) upload: &'a str,
    pub(crate) part: u64,
    /// What the body says, where it is not of an object.
    pub(crate) text: &'a [u8],
}

impl<'a> About<'a> {
    /// The target itself.
    pub(crate) const TARGET: Self = Self {
        object: None,
        source: None,
        from: 0,
        length: 0,
        is_range: false,
        prefix: 0,
        upload: "",
        part: 0,
        text: b"",
    };

    /// A whole object.
    pub(crate) fn object(object: Object) -> Self {
        Self {
            object: Some(object),
            length: object.size,
            ..Self::TARGET
        }
    }

    /// A part of so many bytes, at a random multiple of them; of a smaller object the whole.
    pub(crate) fn part_of(self, size: u64, random: &mut Random) -> Self {
        let Some(object) = self.object.filter(|object| object.size >= size) else {
            return self;
        };
        Self {
            from: random.below(object.size / size) * size,
            length: size,
            is_range: true,
            ..self
        }
    }

    /// A copy of an object, under another owner and number.
    pub(crate) fn copy(source: Object, owner: u32, number: u64) -> Self {
        Self {
            source: Some(source),
            ..Self::object(source.copy(owner, number))
        }
    }

    /// A multipart upload of an object.
    pub(crate) fn upload(object: Object, upload: &'a str) -> Self {
        Self {
            upload,
            ..Self::object(object)
        }
    }
}

/// The path of the bucket, or of the target's URL.
fn path_of_target(settings: &LoadSettings, _: &About<'_>, out: &mut Vec<u8>) {
    match &settings.service {
        Service::S3 { bucket } => {
            out.push(b'/');
            out.extend_from_slice(bucket.as_bytes());
        }
        Service::Http { path, .. } => out.extend_from_slice(path.as_bytes()),
        Service::Share => {}
    }
    if out.is_empty() {
        out.push(b'/');
    }
}

/// The path of an object; our own keys need no encoding.
fn path_of_object(settings: &LoadSettings, about: &About<'_>, out: &mut Vec<u8>) {
    path_of_target(settings, about, out);
    if let Some(object) = about.object {
        if out.last() != Some(&b'/') {
            out.push(b'/');
        }
        write_key(settings, object, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_call_stands_at_its_own_index_under_its_own_name() {
        assert!(
            CALLS
                .iter()
                .enumerate()
                .all(|(index, call)| call.index() == index)
        );
        let names: BTreeSet<_> = CALLS.iter().map(|call| call.request().name).collect();
        assert_eq!(names.len(), CALLS.len());
    }

    #[test]
    fn a_part_is_whole_lies_inside_and_is_every_one_in_turn() {
        let mut random = Random::stream(1, 2);
        let object = About::object(Object::new(0, 0, 1000));
        let mut froms = BTreeSet::new();
        for _ in 0..200 {
            let part = object.part_of(300, &mut random);
            assert!(part.is_range && part.length == 300 && part.from.is_multiple_of(300));
            froms.insert(part.from);
        }
        assert_eq!(froms, BTreeSet::from([0, 300, 600]));
        assert_eq!(object.part_of(1001, &mut random), object);
        assert_eq!(About::TARGET.part_of(1, &mut random), About::TARGET);
    }

    #[test]
    fn a_part_is_proved_by_its_status_its_length_and_what_it_says_that_it_is() {
        let part = About {
            is_range: true,
            from: 300,
            length: 300,
            ..About::object(Object::new(0, 0, 1000))
        };
        let told = |about: &About<'_>, status, received, range: &str| {
            let answer = GoodAnswer {
                status,
                length: None,
                received,
                etag: b"",
                range: range.as_bytes(),
                body: b"",
            };
            is_what_was_asked(about, &answer).err().map(|why| why.what)
        };
        for right in [
            "bytes 300-599/1000",
            "Bytes  300-599/1000 ",
            "bytes 300-599/*",
        ] {
            assert_eq!(told(&part, 206, 300, right), None, "{right}");
        }
        for (status, received, range, why) in [
            (200, 1000, "", "whole object came"),
            (206, 299, "bytes 300-599/1000", "another length"),
            (206, 300, "", "does not say which part"),
            (206, 300, "bytes 300-599", "does not say which part"),
            (206, 300, "bytes +300-599/1000", "does not say which part"),
            (206, 300, "bytes */1000", "does not say which part"),
            (
                206,
                300,
                "bytes 300-599/1000bytes 0-299/1000",
                "does not say which part",
            ),
            (206, 300, "bytes 0-299/1000", "another part"),
            (206, 300, "bytes 300-600/1000", "another part"),
            (206, 300, "bytes 300-599/999", "something of another length"),
        ] {
            let what = told(&part, status, received, range).unwrap();
            assert!(what.contains(why), "{status} {received} {range:?}: {what}");
        }
        let whole = About::object(Object::new(0, 0, 1000));
        assert_eq!(told(&whole, 200, 1000, ""), None);
        assert!(told(&whole, 200, 300, "").is_some());
    }

    #[test]
    fn every_verb_is_read_by_its_word_and_makes_requests() {
        for kind in StepKind::ALL {
            let read: Result<StepKind, serde::de::value::Error> = serde::Deserialize::deserialize(
                serde::de::value::StrDeserializer::new(kind.word()),
            );
            assert_eq!(read.unwrap(), *kind);
            assert!(!kind.verb().calls.is_empty(), "{}", kind.word());
        }
    }
}
