# Sourced by scripts/soak: other versions of tmux, as .cache/tmux/VERSION/tmux, from releases of Debian other than the
# machine's.  With package lists of their own: the system's sources, lists and packages stay as they are.  A version that
# cannot be had is left out, and the parts that would run it say so.

# debian_tmux VERSION SUITE PACKAGE...: the packages' files, and a script that runs tmux with its own loader and libraries.
debian_tmux() {
    version=$1 suite=$2
    shift 2
    [ -x "$CACHE/tmux/$version/tmux" ] && return
    if ! command -v apt-get >/dev/null 2>&1; then
        say "no apt-get: tmux $version is left out"
        return
    fi
    # The main archive: those of updates and of security have a codename with a dash.
    mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Origin: Debian' 'Component: main' |
        awk '$1 !~ /-/ { print $2; exit }')
    if [ -z "$mirror" ]; then
        say "no Debian mirror among the system's sources: tmux $version is left out"
        return
    fi
    say "fetching tmux $version ($suite)"
    into=$CACHE/tmux/$version
    rm -rf "$into"
    mkdir -p "$into/lists/partial" "$into/archives/partial" "$into/debs" "$into/root"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$mirror" "$suite" >"$into/sources.list"
    own="-o Dir::Etc::sourcelist=$into/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$into/lists"
    own="$own -o Dir::Cache=$into -o Dir::Cache::archives=$into/archives -o APT::Sandbox::User=root"
    own="$own -o Dir::State::status=$into/status -o Acquire::Retries=1 -o Acquire::http::Timeout=20"
    : >"$into/status"
    # shellcheck disable=SC2086  # one option a word
    if apt-get -qq $own -o APT::Update::Error-Mode=any update >/dev/null &&
        (cd "$into/debs" && apt-get -qq $own download "$@" >/dev/null); then
        for deb in "$into"/debs/*.deb; do dpkg -x "$deb" "$into/root"; done
        chmod -R u-s,g-s "$into/root"
        loader=$(find "$into/root" -name 'ld-linux*.so.*' | sort | head -n 1)
        libraries=$(find "$into/root" -name 'lib*.so.*' -exec dirname {} \; | sort -u | tr '\n' ':')
        printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' \
            "$loader" "${libraries%:}" "$into/root/usr/bin/tmux" >"$into/run"
        chmod +x "$into/run"
        "$into/run" -V >/dev/null && mv "$into/run" "$into/tmux"
    else
        say "tmux $version could not be fetched: it is left out"
    fi
    rm -rf "$into/lists" "$into/archives" "$into/debs" "$into/sources.list" "$into/status"
}

debian_tmux 3.1c bullseye tmux libc6 libevent-2.1-7 libtinfo6 libutempter0
debian_tmux 3.5a trixie tmux libc6 libcap2 libevent-core-2.1-7t64 libgcc-s1 libjemalloc2 libstdc++6 libsystemd0 libtinfo6 \
    libutempter0
