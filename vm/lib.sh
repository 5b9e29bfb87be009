# What the checks share; each begins with ". /lib.sh". A check is a program of the guest: exit 0 is passed, 77 skipped, its last line is the reason.
set -eu
# What the last server said stands before the reason of a failure.
trap 'code=$?; [ $code = 0 ] || [ ! -s "${out:-}" ] || sed "s/^/server: /" "$out" >&2' EXIT
die() { echo "$*"; exit 1; }
skip() { echo "$*"; exit 77; }
# refuses CODE TEXT COMMAND...: the command ends with this code and says the text.
refuses() {
    wanted=$1 words=$2; shift 2; code=0
    "$@" >/tmp/said 2>&1 </dev/null || code=$?
    cat /tmp/said
    [ $code = "$wanted" ] || die "exit $code instead of $wanted of: $*"
    grep -qF -- "$words" /tmp/said || die "did not say '$words': $*"
}
# until_true SECONDS COMMAND...
until_true() {
    { set +x; } 2>/dev/null
    limit=$(($1 * 20)); shift
    while ! "$@" >/dev/null 2>&1; do
        limit=$((limit - 1)); [ $limit -gt 0 ] || die "waited in vain for: $*"
        sleep 0.05
    done
    case $- in *x*) ;; *) [ -n "${QUIET:-}" ] || set -x ;; esac
}
same() { [ "$1" = "$2" ] || die "$3: '$1' is not '$2'"; }
# serve OPTIONS...: a device of ours: $dev, the supervisor $pid, what it says in $out.
serve() {
    out=/tmp/serve.$$.$(cut -d' ' -f1 /proc/uptime)
    fathom serve block --front ublk "$@" >$out 2>&1 & pid=$!
    until_true 20 grep -q '^serving\|^error' $out
    dev=$(sed -n 's/^serving \(\/dev\/[a-z0-9]*\):.*/\1/p' $out)
    cat $out
    [ -b "$dev" ] || die "no block device '$dev'"
}
# Ends the last one, and looks for what it may have left.
unserve() {
    kill $pid; code=0; wait $pid || code=$?
    cat $out
    same $code 0 "exit code of the server"
    [ ! -e $dev ] || die "$dev is left"
    [ ! -e /dev/ublkc${dev#/dev/ublkb} ] || die "the char device of $dev is left"
}
# The process that serves the last one.
server_of() { sed -n 's/.*server \([0-9]*\).*/\1/p' $out | tail -n 1; }
other_server() { [ "$(server_of)" != "$1" ]; }
