//! Which request is which: PicoShare's addresses, so that its clients work, and a few more.

use http::{Method, Uri};
use percent_encoding::percent_decode_str;

/// What a request asks for, by its line alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    LogIn,
    LogOut,
    EndSession(String),
    EndOtherSessions,
    Upload,
    Replace(String),
    Amend(String),
    Delete(String),
    NewGuestLink,
    DeleteGuestLink(String),
    EnableGuestLink(String),
    DisableGuestLink(String),
    Settings,
    GuestUpload(String),
    Download(String),
    Screen(Screen),
    /// Under `/fathom/`.
    Own,
    /// What browsers ask for by themselves; there is none.
    Icon,
    /// The path is known, but not with this method; with which it is.
    Method(&'static str),
    Unknown,
}

/// A page for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Screen {
    Start,
    LogIn,
    Guest(String),
    Files,
    File(String),
    Edit(String),
    Downloads(String),
    ConfirmDelete(String),
    GuestLinks,
    NewGuestLink,
    Settings,
    Information,
}

/// The operations of this server, by name and by the kind as which a load knows them.
pub(crate) const OPERATIONS: [(&str, &str); 10] = [
    ("Upload", "put"),
    ("GuestUpload", "post"),
    ("Download", "get"),
    ("Head", "head"),
    ("Delete", "delete"),
    ("List", "list"),
    ("LogIn", "login"),
    ("Change", "change"),
    ("Screen", "view"),
    ("Replace", "replace"),
];

/// The kinds of operations that can be made to misbehave apart from each other.
pub const OPERATION_KINDS: [&str; 10] = [
    "put", "post", "get", "head", "delete", "list", "login", "change", "view", "replace",
];

impl Route {
    pub(crate) fn of(method: &Method, uri: &Uri) -> Self {
        let path = uri.path();
        if path.starts_with("/fathom/") {
            return Self::Own;
        }
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let parts: Vec<String> = path
            .trim_start_matches('/')
            .split('/')
            .map(decode)
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts[..] {
            ["favicon.ico"] => reads(method, Self::Icon),
            ["api", ref rest @ ..] => Self::api(method, rest),
            [first] | [first, _] if first.starts_with(['-', '!']) && first.len() > 1 => {
                reads(method, Self::Download(first[1..].to_owned()))
            }
            _ => match Screen::of(&parts) {
                Some(view) => reads(method, Self::Screen(view)),
                None => Self::Unknown,
            },
        }
    }

    fn api(method: &Method, path: &[&str]) -> Self {
        let id = |id: &str| id.to_owned();
        match (method.as_str(), path) {
            ("POST", ["auth"]) => Self::LogIn,
            ("DELETE", ["auth"]) => Self::LogOut,
            (_, ["auth"]) => Self::Method("POST, DELETE"),
            ("DELETE", ["sessions"]) => Self::EndOtherSessions,
            (_, ["sessions"]) => Self::Method("DELETE"),
            ("DELETE", ["sessions", token]) => Self::EndSession(id(token)),
            (_, ["sessions", _]) => Self::Method("DELETE"),
            ("POST", ["entry"]) => Self::Upload,
            (_, ["entry"]) => Self::Method("POST"),
            ("POST", ["entry", entry]) => Self::Replace(id(entry)),
            ("PUT", ["entry", entry]) => Self::Amend(id(entry)),
            ("DELETE", ["entry", entry]) => Self::Delete(id(entry)),
            (_, ["entry", _]) => Self::Method("POST, PUT, DELETE"),
            ("POST", ["guest-links"]) => Self::NewGuestLink,
            (_, ["guest-links"]) => Self::Method("POST"),
            ("DELETE", ["guest-links", link]) => Self::DeleteGuestLink(id(link)),
            (_, ["guest-links", _]) => Self::Method("DELETE"),
            ("PUT", ["guest-links", link, "enable"]) => Self::EnableGuestLink(id(link)),
            ("PUT", ["guest-links", link, "disable"]) => Self::DisableGuestLink(id(link)),
            (_, ["guest-links", _, "enable" | "disable"]) => Self::Method("PUT"),
            ("PUT", ["settings"]) => Self::Settings,
            (_, ["settings"]) => Self::Method("PUT"),
            ("POST", ["guest", link]) => Self::GuestUpload(id(link)),
            (_, ["guest", _]) => Self::Method("POST"),
            _ => Self::Unknown,
        }
    }

    /// Whether it changes what is kept.
    pub(crate) fn changes(&self) -> bool {
        match self {
            Self::LogIn
            | Self::LogOut
            | Self::EndSession(_)
            | Self::EndOtherSessions
            | Self::Upload
            | Self::Replace(_)
            | Self::Amend(_)
            | Self::Delete(_)
            | Self::NewGuestLink
            | Self::DeleteGuestLink(_)
            | Self::EnableGuestLink(_)
            | Self::DisableGuestLink(_)
            | Self::Settings
            | Self::GuestUpload(_) => true,
            Self::Download(_)
            | Self::Screen(_)
            | Self::Own
            | Self::Icon
            | Self::Method(_)
            | Self::Unknown => false,
        }
    }

    /// Its place among the operations, where it is one; `method` tells a download from a look at its
    /// head.
    pub(crate) fn operation(&self, method: &Method) -> Option<usize> {
        let name = match self {
            Self::Upload => "Upload",
            Self::GuestUpload(_) => "GuestUpload",
            Self::Replace(_) => "Replace",
            Self::Download(_) if method == Method::HEAD => "Head",
            Self::Download(_) => "Download",
            Self::Delete(_) => "Delete",
            Self::Screen(Screen::Files) => "List",
            Self::LogIn => "LogIn",
            Self::Screen(_) => "Screen",
            Self::LogOut
            | Self::EndSession(_)
            | Self::EndOtherSessions
            | Self::Amend(_)
            | Self::NewGuestLink
            | Self::DeleteGuestLink(_)
            | Self::EnableGuestLink(_)
            | Self::DisableGuestLink(_)
            | Self::Settings => "Change",
            Self::Own | Self::Icon | Self::Method(_) | Self::Unknown => return None,
        };
        OPERATIONS.iter().position(|(known, _)| *known == name)
    }
}

fn reads(method: &Method, route: Route) -> Route {
    if method == Method::GET || method == Method::HEAD {
        route
    } else {
        Route::Method("GET, HEAD")
    }
}

impl Screen {
    fn of(path: &[&str]) -> Option<Self> {
        let id = |id: &str| id.to_owned();
        Some(match path {
            [""] => Self::Start,
            ["login"] => Self::LogIn,
            ["g", link] => Self::Guest(id(link)),
            ["files"] => Self::Files,
            ["files", entry, "info"] => Self::File(id(entry)),
            ["files", entry, "edit"] => Self::Edit(id(entry)),
            ["files", entry, "downloads"] => Self::Downloads(id(entry)),
            ["files", entry, "confirm-delete"] => Self::ConfirmDelete(id(entry)),
            ["guest-links"] => Self::GuestLinks,
            ["guest-links", "new"] => Self::NewGuestLink,
            ["settings"] => Self::Settings,
            ["information"] => Self::Information,
            _ => return None,
        })
    }

    /// Whether it is for anybody.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::LogIn | Self::Guest(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(line: &str) -> Route {
        let (method, path) = line.split_once(' ').unwrap();
        Route::of(&method.parse().unwrap(), &path.parse().unwrap())
    }

    #[test]
    fn the_addresses_of_picoshare_are_known() {
        let id = || "abc".to_owned();
        for (line, expected) in [
            ("POST /api/auth", Route::LogIn),
            ("POST /api/entry?expiration=x", Route::Upload),
            ("PUT /api/entry/abc", Route::Amend(id())),
            ("DELETE /api/entry/abc", Route::Delete(id())),
            (
                "PUT /api/guest-links/abc/disable",
                Route::DisableGuestLink(id()),
            ),
            ("POST /api/guest/abc", Route::GuestUpload(id())),
            ("GET /-abc", Route::Download(id())),
            ("HEAD /-abc/a%2Fb%20c.txt", Route::Download(id())),
            ("GET /!abc", Route::Download(id())),
            ("GET /", Route::Screen(Screen::Start)),
            (
                "GET /files/abc/downloads?unique=true",
                Route::Screen(Screen::Downloads(id())),
            ),
            ("PATCH /api/entry/abc", Route::Method("POST, PUT, DELETE")),
            ("DELETE /-abc", Route::Method("GET, HEAD")),
            ("GET /-", Route::Unknown),
            ("GET /-abc/a/b", Route::Unknown),
            ("GET /api/none", Route::Unknown),
            ("GET /fathom/seen", Route::Own),
        ] {
            assert_eq!(route(line), expected, "{line}");
        }
    }

    #[test]
    fn every_operation_has_a_kind_that_can_misbehave() {
        for (_, kind) in OPERATIONS {
            assert!(OPERATION_KINDS.contains(&kind), "{kind}");
        }
        assert_eq!(route("HEAD /-abc").operation(&Method::HEAD), Some(3));
        assert_eq!(route("GET /files").operation(&Method::GET), Some(5));
        assert_eq!(route("GET /none").operation(&Method::GET), None);
    }
}
