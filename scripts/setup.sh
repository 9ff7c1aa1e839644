# Sourced by the other scripts: makes .venv and what they need, once.  POSIX shell.  Nothing outside the checkout is
# touched, except that the system's package manager installs missing programs where this user has the right to.
set -eu

ROOT=$(cd "$(dirname "$0")/.." && pwd)
VENV=$ROOT/.venv
CACHE=$ROOT/.cache
cd "$ROOT"

say() { printf '%s\n' "$*" >&2; }

# apt_install PACKAGE...: from the system's packages, as root on a Debian-like machine; else say what to install.
apt_install() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing $*"
        [ -n "${APT_FRESH:-}" ] || apt-get update -qq >/dev/null
        APT_FRESH=1
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    else
        say "missing: install $* with the system's package manager, then try again"
        return 1
    fi
}

# need PROGRAM PACKAGE...: unless the program is there, install the packages.
need() {
    program=$1
    shift
    command -v "$program" >/dev/null 2>&1 || apt_install "$@"
}

# unpack DIR PACKAGE...: the files of system packages, not installed and without setuid or setgid bits.
unpack() {
    into=$1
    shift
    if ! command -v apt-get >/dev/null 2>&1; then
        say "no apt-get: what needs $* is left out"
        return
    fi
    if [ "$(id -u)" = 0 ] && [ -z "${APT_FRESH:-}" ]; then
        apt-get update -qq >/dev/null
        APT_FRESH=1
    fi
    debs=$(mktemp -d)
    (cd "$debs" && apt-get -qq -o APT::Sandbox::User=root download "$@" >/dev/null)
    for deb in "$debs"/*.deb; do dpkg -x "$deb" "$into"; done
    chmod -R u-s,g-s "$into"
    rm -r "$debs"
}

# The first Python that is new enough: 3.11 brought tomllib and StrEnum.
find_python() {
    for candidate in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    say "missing: install Python 3.11 or newer, or name it with PYTHON=/path/to/python3"
    return 1
}

# make_venv DIR: a virtual environment.  Debian has the module for it in a separate package.
make_venv() {
    [ -x "$1/bin/pip" ] && return
    python=$(find_python)
    "$python" -c 'import ensurepip' 2>/dev/null || apt_install python3-venv
    "$python" -m venv "$1"
}

# pip_install DIR ARGUMENT...: into that environment, at the versions of constraints.txt.
pip_install() {
    venv=$1
    shift
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt "$@"
}

# changed_since NAME FILE...: true if one of the files changed since NAME was last done; done_with records that it is.
changed_since() {
    stamp=$CACHE/$1.stamp
    shift
    mkdir -p "$CACHE"
    now=$(cat "$@" | cksum)
    [ "$(cat "$stamp" 2>/dev/null)" != "$now" ]
}

done_with() { printf '%s\n' "$now" >"$stamp"; }

# setup REQUIREMENTS: .venv with those requirements, and this checkout its packs and its apps installed in place.
setup() {
    make_venv "$VENV"
    if changed_since "$1" requirements/*.txt pyproject.toml plugins/*/pyproject.toml apps/*/pyproject.toml; then
        say "setting up .venv ($1)"
        pip_install "$VENV" -r "requirements/$1.txt"
        # shellcheck disable=SC2046  # one word each: none has a blank in its name
        pip_install "$VENV" --no-build-isolation --no-deps -e . $(printf -- '-e %s ' plugins/*/ apps/*/)
        done_with
    fi
}
