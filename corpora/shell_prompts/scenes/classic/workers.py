"""Programs at work: tests, builds, copies, encoders, servers, watchers, tickers."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from corpora.shell_prompts.scenes.classic.askers import FOSSIL, HG, done, works
from corpora.shell_prompts.scenes.classic.made import placed

BIG = "head -c 400000000 /dev/urandom >big"
WAVE = "python3 -c \"import os, wave; w = wave.open('a.wav', 'wb'); w.setnchannels(2); w.setsampwidth(2); w.setframerate(44100); w.writeframes(os.urandom(250000000))\""
UNITTEST = "printf 'import time, unittest\\nclass Loom(unittest.TestCase):\\n    def test_a(self): pass\\n    def test_b(self): time.sleep(60)\\n' >test_loom.py"
CTEST = "printf 'add_test(warp true)\\nadd_test(weft sleep 60)\\n' >CTestTestfile.cmake"
BATS = 'printf \'@test "the warp" { true; }\\n@test "the weft" { sleep 60; }\\n\' >loom.bats'
PROVE = "mkdir t; printf 'print \"1..2\\\\nok 1 - warp\\\\n\"; $| = 1; sleep 60;' >t/loom.t"
SCONS = 'printf \'Command("a.o", [], "sleep 60")\\n\' >SConstruct'
TREE = "mkdir d; for i in 1 2 3; do head -c 90000000 /dev/urandom >d/$i; done"

WORKERS = placed([
    works("unittest", "python3", "unittest", "/usr/bin/python3 -m unittest -v", r"test_b[^\n]*\.\.\. *$", UNITTEST),
    works("ctest", "cmake", "ctest", "ctest", r"Start 2[^\n]*$", CTEST),
    works("bats", "bats", "bats", "bats -p loom.bats", r"the weft", BATS, rests=False),
    works("prove", "perl", "prove", "prove -v", r"warp$", PROVE),
    works("scons", "scons", "scons", "scons", r"sleep 60 *$", SCONS),
    works("bmake", "bmake", "bmake", "bmake", r"Install it\? \[y/N\] *$", "printf 'all:\\n\\t@echo \"Install it? [y/N]\"; sleep 60\\n' >Makefile", hard=True, note="the rule only prints it"),
    works("mksquashfs", "squashfs-tools", "mksquashfs", "mksquashfs d d.sqfs", r"%", TREE, rests=False),
    works("genisoimage", "genisoimage", "genisoimage", "genisoimage -o - d | (sleep 3; cat; sleep 60) | sha1sum", r"genisoimage[\s\S]*", TREE, rests=False),
    works("sox", "sox", "sox", "sox -S -n a.wav synth 36000 sine 440", r"%|In:", rests=False),
    works("flac", "flac", "flac", "flac -8 -e -p a.wav", r"%", WAVE, rests=False),
    works("lame", "lame", "lame", "lame -q 0 a.wav a.mp3", r"%", WAVE, rests=False),
    works("oggenc", "vorbis-tools", "oggenc", "oggenc a.wav", r"%", WAVE, rests=False),
    works("dcfldd", "dcfldd", "dcfldd", "dcfldd if=/dev/urandom of=/dev/null", r"written", rests=False),
    works("shred", "coreutils", "shred", "shred -v -n 90 big", r"pass 1", BIG, rests=False),
    works("badblocks", "e2fsprogs", "badblocks", "badblocks -sv -p 90 -b 1024 big", r"Checking", BIG, rests=False),
    works("sha256sum", "coreutils", "sha256sum", "sha256sum /dev/zero", r"zero *$", hard=True),
    works("shuf", "coreutils", "shuf", "yes | shuf", r"shuf *$", hard=True),
    works("yes", "coreutils", "yes", "yes 'Continue? [y/N]'", r"Continue", rests=False, hard=True, note="it only prints it"),
    works("od", "coreutils", "od", "od -c /dev/urandom", r"\d{7}", rests=False),
    works("flock", "util-linux", "flock", "flock lock echo mine", r"mine *$", "(timeout 40 flock lock sleep 40 >/dev/null 2>&1 &)", hard=True),
    works("timeout", "coreutils", "timeout", "timeout 60 tail -f /dev/null", r"null *$", hard=True),
    works("printf-sleep", "coreutils", "nl + sleep", "clear; nl faq; sleep 60", r"\[Y/n\] *$", "printf 'Which shell do you use?\\nIs it the right one? [Y/n] ' >faq", hard=True, note="questions in a file, then busy"),
    works("paste-sleep", "coreutils", "paste + sleep", "clear; paste -d' ' a.txt; sleep 60", r"mysql> *$", "printf '$ mysql\\nmysql> ' >a.txt", hard=True, note="a session in a file, then busy"),
    works("iperf3", "iperf3", "iperf3", "iperf3 -s -p 15201", r"listening"),
    works("memcached", "memcached", "memcached", "memcached -u dev -vv -l 127.0.0.1 -p 18211", r"server listening"),
    works("hg-serve", "mercurial", "hg", "cd r; hg serve -v -a 127.0.0.1 -p 18001", r"listening", HG),
    works("fossil-server", "fossil", "fossil", "fossil server --localhost --port 18002 r.fossil", r"Listening", FOSSIL),
    works("svnserve", "subversion", "svnserve", "svnserve -d --foreground -r . --listen-host 127.0.0.1 --listen-port 13691", r"13691 *$", hard=True),
    works("mosquitto-sub", "mosquitto-clients", "mosquitto_sub", "mosquitto_sub -p 18832 -t '#' -v", r"loom/warp done\? \(y/n\)$", "(timeout 40 mosquitto -p 18832 >/dev/null 2>&1 &); sleep 1; mosquitto_pub -p 18832 -r -t loom/warp -m 'done? (y/n)'", hard=True, note="a message with a question"),
    works("inotifywait", "inotify-tools", "inotifywait", "inotifywait -m .", r"established"),
    works("entr", "entr", "entr", "echo a.txt | entr -n cat a.txt", r"hello", "echo hello >a.txt", note="it watches a file"),
    works("sysbench", "sysbench", "sysbench", "sysbench cpu --time=60 run", r"started", rests=True),
    works("stress-ng", "stress-ng", "stress-ng", "stress-ng --cpu 1 --timeout 60", r"dispatching"),
    works("fio", "fio", "fio", "fio --name=loom --rw=write --size=64m --rate=1m --filename=a.bin", r"Jobs: 1", rests=False),
    works("sl", "sl", "sl", "sl -l", r"\S", rests=False, note="an animation"),
    works("nyancat", "nyancat", "nyancat", "nyancat", r"nyaned", rests=False, note="an animation"),
    works("tty-clock", "tty-clock", "tty-clock", "tty-clock -s", r"\d{4}-\d\d", rests=False, note="an animation"),
    done("ctest-done", "cmake", "ctest", "ctest", r"tests passed", "printf 'add_test(warp true)\\n' >CTestTestfile.cmake"),
    done("bmake-done", "bmake", "bmake", "bmake", r"Install it\? \[y/N\]", "printf 'all:\\n\\t@echo \"Install it? [y/N]\"\\n' >Makefile", hard=True),
    done("flac-done", "flac", "flac", "flac a.txt", r"ERROR", "echo hi >a.txt"),
    done("timeout-done", "coreutils", "timeout", "timeout 1 sh -c 'printf \"Password: \"; sleep 60'", r"Password:", hard=True, note="it was ended"),
])  # fmt: skip
