//! Where a real browser is, for all tests that want one.

use std::path::PathBuf;

pub(crate) const NO_BROWSER: &str =
    "SKIPPED: needs Chromium (apt-get install chromium, or CHROMIUM=FILE)";

/// `CHROMIUM`, else the first Chromium on the path.
pub(crate) fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "chrome",
    ];
    named.or_else(|| {
        std::env::split_paths(&path)
            .flat_map(|dir| names.map(|name| dir.join(name)))
            .find(|file| file.is_file())
    })
}
