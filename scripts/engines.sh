# Sourced by scripts/test: docker, podman and bubblewrap for the tests, in .cache/engines.  The packages are unpacked,
# not installed: no service starts, nothing is written outside the cache.  .cache/engines/bin has a script for each
# program that sets the path to its libraries.  tests/machine_room.py starts the container runtimes.

ENGINES=$CACHE/engines
if changed_since engines tests/real/engines.txt scripts/engines.sh; then
    say "fetching container engines (apt)"
    rm -rf "$ENGINES"
    mkdir -p "$ENGINES/bin"
    # Packages that cannot be fetched are left out here, and the tests that need them say so.
    # shellcheck disable=SC2046  # one package a word
    (unpack "$ENGINES/root" $(cat tests/real/engines.txt)) || say "not every package could be fetched"
    libraries=$(find "$ENGINES/root" -name 'lib*.so.*' -exec dirname {} \; 2>/dev/null | sort -u | tr '\n' ':')
    whole=yes
    for program in docker dockerd containerd containerd-shim-runc-v2 runc podman conmon crun bwrap busybox; do
        found=$(find "$ENGINES/root/bin" "$ENGINES"/root/usr/*bin -type f -name "$program" 2>/dev/null | head -n 1)
        if [ -z "$found" ]; then
            say "no $program here: the tests of its engine cannot run"
            whole=no
            continue
        fi
        printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "${libraries%:}" "$found" >"$ENGINES/bin/$program"
        chmod +x "$ENGINES/bin/$program"
    done
    [ $whole = no ] || done_with
fi
