# What the scripts of the host side share. VM_CACHE: where kernel, busybox and images are kept (default target/vm, which git ignores).
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
cache=${VM_CACHE:-$root/target/vm}
mkdir -p "$cache"
# Where a user without privileges has tools of the administrator that he may run.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# Nothing ends without a word.
trap 'echo "${0##*/} failed at line $LINENO: $BASH_COMMAND"' ERR

# The one reason for which nothing is tested and yet nothing failed.
skip() { echo "SKIPPED: needs $*"; echo "test result: ok. 0 passed; 0 failed; 1 ignored"; exit 0; }

# need COMMAND PACKAGE: a command of the distribution, installed by name where it is missing.
need() {
    command -v "$1" >/dev/null && return
    command -v apt-get >/dev/null || skip "$1, and there is no apt-get to install $2 with"
    [ "$(id -u)" = 0 ] || skip "$1 (apt-get install --no-install-recommends $2)"
    [ -n "${lists_are_new:-}" ] || { timeout 120 apt-get update -qq >/dev/null 2>&1 || true; lists_are_new=1; }
    DEBIAN_FRONTEND=noninteractive timeout 240 apt-get install -y -qq --no-install-recommends "$2" >"$cache/apt.log" 2>&1 && command -v "$1" >/dev/null ||
        skip "package $2, which cannot be installed here: $(tail -n 1 "$cache/apt.log")"
}

# on_path TOOL: where a tool of the distribution lies that the guest is given.
on_path() { command -v "$1" || { echo "the guest is given $1, which is not on PATH" >&2; return 1; }; }

# Everything that a boot needs beside the program itself.
prepare_tools() {
    need qemu-system-x86_64 qemu-system-x86
    need cpio cpio
    need xz xz-utils
    need fio fio
    need mkfs.ext4 e2fsprogs
    need nbd-client nbd-client
    need cmp diffutils
    need blkdiscard util-linux
    need mount mount
    need objcopy binutils
    command -v apt-cache >/dev/null || skip "a distribution with apt, for its kernel"
    # A kernel that is there may be of another name.
    [ "$(cat "$cache/meta" 2>/dev/null)" = "$META ${VM_SUITE:-}" ] || timeout 240 "$here/fetch" "$META" "$cache" >"$cache/fetch.log" 2>&1 ||
        skip "package $META, which cannot be had here: $(tail -n 1 "$cache/fetch.log")"
}
META=${VM_KERNEL:-linux-image-6.12-cloud-amd64}

# The program, which is built unless VM_PROGRAM names one, without its debug information, which would triple the image.
build_program() {
    local how=()
    [ -z "${VM_PROGRAM:-}" ] || { objcopy --strip-debug "$VM_PROGRAM" "$cache/fathom"; return; }
    [ "$PROFILE" = debug ] || how=(--profile "$PROFILE")
    (cd "$root" && ${CARGO:-cargo} build --quiet -p fathom --bin fathom "${how[@]}") || { echo "the program does not build"; exit 1; }
    objcopy --strip-debug "${CARGO_TARGET_DIR:-$root/target}/$PROFILE/fathom" "$cache/fathom"
}
