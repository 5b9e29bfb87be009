//! The mounts that this process sees.

use std::path::Path;

use super::tree::Tree;

/// One line of /proc/self/mountinfo, proc_pid_mountinfo(5).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Mount {
    /// Major and minor number as stat(2) reports them; major 0 for what lies on no one block
    /// device.
    pub(super) device: (u32, u32),
    pub(super) root: String,
    pub(super) point: String,
    pub(super) options: String,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) super_options: String,
}

/// The mounts in the order of mounting; a line that cannot be read is left out.
pub(super) fn mounts(tree: &Tree) -> Vec<Mount> {
    let text = tree.text("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mount> {
    // Optional fields of any number end with a lone hyphen.
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let (major, minor) = before.next()?.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let root = unescaped(before.next()?);
    let point = unescaped(before.next()?);
    let options = before.next()?.to_owned();
    let mut after = after.split(' ');
    let kind = after.next()?.to_owned();
    let source = unescaped(after.next()?);
    let super_options = unescaped(after.next().unwrap_or_default());
    Some(Mount {
        device,
        root,
        point,
        options,
        kind,
        source,
        super_options,
    })
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&piece[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(piece);
            }
        }
    }
    plain
}

/// The mount that `path` lies on. Among the mounts whose point is above it the longest point wins,
/// and the latest of equals, which hides the others. Where some of them have the path's own device,
/// only those count: a mount on a parent can hide a longer one. Subvolumes and overlays report
/// devices that no mount has, hence the fallback.
pub(super) fn mount_of<'a>(
    mounts: &'a [Mount],
    path: &Path,
    device: Option<(u32, u32)>,
) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| {
        (
            Some(mount.device) == device,
            Path::new(&mount.point).components().count(),
        )
    })
}

/// Major and minor number of a `st_dev`, as the C libraries for Linux encode them.
pub(super) fn device_numbers(encoded: u64) -> Option<(u32, u32)> {
    let major = ((encoded >> 8) & 0xfff) | ((encoded >> 32) & 0xffff_f000);
    let minor = (encoded & 0xff) | ((encoded >> 12) & 0xffff_ff00);
    Some((u32::try_from(major).ok()?, u32::try_from(minor).ok()?))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::machine) const MOUNTS: &str = "\
        22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n\
        23 22 0:21 / /proc rw - proc proc rw\n\
        24 22 0:40 / /tmp rw shared:2 master:3 - tmpfs tmpfs rw,size=1024k\n\
        25 22 0:45 /@data /srv/my\\040data rw - btrfs /dev/sda1 rw,subvol=/@data\n\
        26 22 0:50 / /merged rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/srv/up,workdir=/srv/work\n\
        27 22 7:0 / /loop rw - xfs /dev/loop0 rw\n";

    #[test]
    fn a_line_with_any_number_of_optional_fields_is_read() {
        let mounts: Vec<Mount> = MOUNTS.lines().filter_map(parse).collect();
        assert_eq!(mounts.len(), 6);
        assert_eq!(
            (mounts[0].device, mounts[0].source.as_str()),
            ((259, 2), "/dev/nvme0n1p2")
        );
        assert_eq!(
            (mounts[2].kind.as_str(), mounts[2].super_options.as_str()),
            ("tmpfs", "rw,size=1024k")
        );
        assert_eq!(
            (mounts[3].root.as_str(), mounts[3].point.as_str()),
            ("/@data", "/srv/my data")
        );
        assert_eq!(parse("1 2 8:1 / / rw"), None);
        assert_eq!(parse("1 2 x:1 / / rw - ext4 a rw"), None);
    }

    #[test]
    fn the_longest_point_wins_and_only_whole_names_match() {
        let mounts: Vec<Mount> = MOUNTS.lines().filter_map(parse).collect();
        let point = |path: &str| {
            mount_of(&mounts, Path::new(path), None)
                .unwrap()
                .point
                .clone()
        };
        assert_eq!(point("/tmp/a"), "/tmp");
        assert_eq!(point("/tmpfile"), "/");
        assert_eq!(point("/srv/my data/x"), "/srv/my data");
    }

    #[test]
    fn the_device_decides_where_a_mount_hides_another() {
        let line = |device: &str, point: &str| {
            parse(&format!("1 1 {device} / {point} rw - ext4 s rw")).unwrap()
        };
        let mounts = [
            line("8:1", "/"),
            line("8:2", "/a/b"),
            line("8:3", "/a"),
            line("8:4", "/c"),
            line("8:5", "/c"),
        ];
        let of = |path: &str, device| mount_of(&mounts, Path::new(path), device).unwrap().device;
        assert_eq!(of("/a/b/x", Some((8, 3))), (8, 3));
        assert_eq!(of("/a/b/x", Some((0, 77))), (8, 2));
        assert_eq!(of("/c/x", None), (8, 5));
    }

    #[test]
    fn device_numbers_follow_the_encoding_of_stat() {
        assert_eq!(device_numbers(0x0001_0302), Some((259, 2)));
        assert_eq!(device_numbers(0xfe00), Some((254, 0)));
        assert_eq!(device_numbers(0x0000_1000_0010_0807), Some((0x1008, 0x107)));
    }

    proptest! {
        #[test]
        fn no_line_makes_the_parser_panic(line in "[0-9: \\\\/a-e\u{e9}-]{0,60}") {
            let _ = parse(&line);
            let _ = unescaped(&line);
        }

        #[test]
        fn text_without_backslashes_is_left_alone(text in "[^\\\\]{0,40}") {
            prop_assert_eq!(unescaped(&text), text);
        }
    }
}
