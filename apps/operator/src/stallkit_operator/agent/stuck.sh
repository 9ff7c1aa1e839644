#!/bin/sh
# stuck [--wait SECONDS | --no-wait] [--key KEY] [TEXT...]: ask a person, wait for the reply, and print it as it is.
# The text may also come on standard input.  Without one: the reply to what a hook asked last.  Needs a POSIX shell and
# curl.
#
# Exit codes: 0 answered; 1 declined, the reason is printed; 2 it could not be asked; 4 expired or cancelled;
#             5 still waiting after --wait, or asked with --no-wait: the same --key goes on with it.
#
# Where to ask: $STALLKIT_STUCK_SOCKET, else notify.sock beside this file, else /run/stallkit/notify.sock; or
# $STALLKIT_STUCK_URL, with $STALLKIT_STUCK_TOKEN.
set -u

fail() { printf 'stuck: %s\n' "$*" >&2; exit 2; }

wait_s='' key='' later=''
while [ $# -gt 0 ]; do
    case $1 in
        --wait) [ $# -ge 2 ] || fail '--wait needs seconds'; wait_s=$2; shift 2 ;;
        --no-wait) later=1; shift ;;
        --key) [ $# -ge 2 ] || fail '--key needs a key'; key=$2; shift 2 ;;
        -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
        --) shift; break ;;
        *) break ;;
    esac
done
case $wait_s in *[!0-9]*) fail '--wait is a number of seconds' ;; esac
case $key in *[!A-Za-z0-9_-]*) fail 'a key has letters, digits, _ and -' ;; esac
command -v curl >/dev/null 2>&1 || fail 'curl is not installed: use stuck.py'

folder=$(mktemp -d) || fail 'no temporary folder'
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

if [ $# -gt 0 ]; then
    printf '%s' "$*" >"$folder/text"
elif [ -t 0 ]; then
    : >"$folder/text"
else
    cat >"$folder/text"
fi
new=$key
[ -n "$key" ] || key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

set -- -sS --connect-timeout 10
if [ -n "${STALLKIT_STUCK_URL:-}" ]; then
    url=${STALLKIT_STUCK_URL%/}
    # The token goes by a file: a command line is there for everybody to read.
    printf 'header = "Authorization: Bearer %s"\n' "${STALLKIT_STUCK_TOKEN:-}" >"$folder/token"
    set -- "$@" --config "$folder/token"
else
    url=http://localhost
fi

# socket: where to ask now; it comes and goes with the endpoint.
socket() {
    beside=$(dirname "$0")/notify.sock
    [ -S "$beside" ] || [ ! -S /run/stallkit/notify.sock ] || beside=/run/stallkit/notify.sock
    printf '%s\n' "${STALLKIT_STUCK_SOCKET:-$beside}"
}

deadline='' pause=1 told='' asked=''
[ -n "$(cat "$folder/text")" ] || asked=1  # earlier
[ -z "$wait_s" ] || deadline=$(($(date +%s) + wait_s))
while :; do
    left=''
    if [ -n "$deadline" ]; then
        left=$((deadline - $(date +%s)))
        if [ "$left" -le 0 ]; then
            [ -n "$asked" ] || fail "nobody could be asked within $wait_s s: ask again"
            printf 'stuck: still waiting; go on with: stuck --key %s\n' "$key" >&2
            exit 5
        fi
    fi
    [ -n "${STALLKIT_STUCK_URL:-}" ] || set -- -sS --connect-timeout 10 --unix-socket "$(socket)"
    status=$(curl "$@" ${left:+--max-time "$left"} --noproxy '*' -o "$folder/reply" -w '%{http_code} %{size_upload}' \
        -H 'Accept: text/plain' -H 'Content-Type: text/plain; charset=utf-8' -H 'Expect:' \
        -H "Idempotency-Key: $key" ${later:+-H 'Prefer: respond-async'} --data-binary "@$folder/text" "$url/supervise/notify" 2>"$folder/error")
    ended=$? sent=${status#* } status=${status% *}
    if [ "$ended" = 0 ]; then
        case $status in
            200) cat "$folder/reply"; exit 0 ;;
            202) printf 'stuck: asked; go on with: stuck --key %s\n' "$key" >&2; exit 5 ;;
            403) cat "$folder/reply"; exit 1 ;;
            410) cat "$folder/reply" >&2; exit 4 ;;
            408 | 429 | 499 | 5??) ;;
            *) fail "refused ($status): $(cat "$folder/reply")" ;;
        esac
        why="it answers $status"
    else
        why=$(cat "$folder/error")
        case ${sent%%.*} in '' | 0) ;; *) asked=1 ;; esac
    fi
    if [ -z "$told" ] && { [ -z "$left" ] || [ "$ended" != 28 ]; }; then
        printf 'stuck: cannot ask yet (%s); trying again%s\n' "$why" "${new:+, with the same key}" >&2
        told=1
    fi
    [ -n "$left" ] && [ "$pause" -gt "$left" ] && pause=$left
    sleep "$pause"
    pause=$((pause < 8 ? pause * 2 : 15))
done
