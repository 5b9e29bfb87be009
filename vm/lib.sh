# What the checks share; each begins with ". /lib.sh". A check is a program of the guest: exit 0 is passed, 77 skipped, its last line is the reason.
set -eu
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
    limit=$(($1 * 20)); shift
    while ! "$@" >/dev/null 2>&1; do
        limit=$((limit - 1)); [ $limit -gt 0 ] || die "waited in vain for: $*"
        sleep 0.05
    done
}
same() { [ "$1" = "$2" ] || die "$3: '$1' is not '$2'"; }
