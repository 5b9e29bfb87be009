//! The terminal that people look at.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Columns and lines of a terminal; `None` of anything else, and of one that does not know its size.
#[must_use]
pub fn terminal_size(of: BorrowedFd<'_>) -> Option<(usize, usize)> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the kernel writes one winsize, which lives until the call has returned.
    let answer = unsafe { libc::ioctl(of.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (answer == 0 && size.ws_col > 0 && size.ws_row > 0)
        .then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Makes this thread wait for all others that want its processor.
///
/// It is a request: where the kernel refuses it, nothing is lost but that.
pub fn yield_to_others() {
    // SAFETY: no memory is handed over; the kernel takes 0 for the calling thread.
    let _refused_where_limits_forbid_it = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_has_no_size_in_columns() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(terminal_size(file.as_fd()), None);
    }
}
