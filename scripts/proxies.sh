# Sourced by scripts/test and scripts/soak: nginx and tinyproxy, in .cache/proxies, for the tests of remedies.  The packages
# are unpacked, not installed: no server starts on this machine.  tests/proxies.py starts them.

if changed_since proxies tests/real/proxies.txt; then
    say "fetching proxies (apt)"
    rm -rf "$CACHE/proxies"
    mkdir -p "$CACHE/proxies"
    # shellcheck disable=SC2046  # one package a word
    unpack "$CACHE/proxies" $(cat tests/real/proxies.txt)
    done_with
fi
