"""Programs at work: tests, builds, copies, encoders, servers, watchers, pollers; computing in silence; and what has ended."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from attrs import evolve

from corpora.shell_prompts.scenes.classic.askers import done, works
from corpora.shell_prompts.scenes.fresh.sizes import placed

BIG = "head -c 300000000 /dev/urandom >big"
WAVE = "python3 -c \"import os, wave; w = wave.open('a.wav', 'wb'); w.setnchannels(2); w.setsampwidth(2); w.setframerate(44100); w.writeframes(os.urandom(200000000))\""
RAKE = "printf 'task :default do\\n  puts \"Weaving the warp\"\\n  $stdout.flush\\n  sleep 60\\nend\\n' >Rakefile"
SPEC = 'mkdir spec; printf \'describe "Loom" do\\n  it("weaves") { }\\n  it("ends") { sleep 60 }\\nend\\n\' >spec/a_spec.rb'
SPECS = 'mkdir spec; printf \'describe "Loom" do\\n  it("weaves") { }\\nend\\n\' >spec/a_spec.rb'
TUP = "tup init; printf ': |> sleep 60 |>\\n' >Tupfile"
MODEL = "python3 -c \"import random; r = random.Random(1); n = 600; print(f'p cnf {n} {int(n * 4.26)}'); [print(*[r.choice((1, -1)) * v for v in r.sample(range(1, n + 1), 3)], 0) for _ in range(int(n * 4.26))]\" >a.cnf"
LP = "python3 -c \"import random; r = random.Random(1); print('Maximize'); print('z: ' + ' + '.join(f'{r.randint(90, 120)} x{i}' for i in range(60))); print('Subject To'); [print(f'c{j}: ' + ' + '.join(f'{r.randint(50, 120)} x{i}' for i in range(60)) + ' <= 2500') for j in range(25)]; print('Binary'); print(' '.join(f'x{i}' for i in range(60))); print('End')\" >a.lp"
SCENE = "printf 'camera { location <0,2,-5> look_at 0 }\\nlight_source { <2,4,-3> color rgb 1 area_light <5,0,0>, <0,0,5>, 90, 90 }\\nsphere { 0, 1 pigment { rgb <1,0,0> } finish { reflection 0.5 } }\\nplane { y, -1 pigment { checker rgb 1 rgb 0 } }\\n' >a.pov"
HAPROXY = "printf 'defaults\\n mode http\\n timeout client 1s\\n timeout server 1s\\n timeout connect 1s\\nfrontend loom\\n bind 127.0.0.1:18081\\n' >h.cfg"
HTTPD = 'mkdir www; printf \'server.document-root = "%s/www"\\nserver.port = 18082\\nserver.bind = "127.0.0.1"\\n\' $PWD >l.conf'
SUPERVISOR = "printf '[supervisord]\\nnodaemon=true\\nlogfile=/dev/null\\nlogfile_maxbytes=0\\npidfile=p.pid\\n[program:loom]\\ncommand=sleep 60\\n' >s.conf"
IRCD = "printf '[Global]\\nName = loom.box\\nInfo = Loom\\nListen = 127.0.0.1\\nPorts = 16668\\n' >n.conf; chmod 644 n.conf"
SERVED = "mkdir www; echo hi >www/index.html; (cd www; timeout 60 python3 -m http.server -b 127.0.0.1 18083 >/dev/null 2>&1 &); sleep 1"
TTYREC = "python3 -c \"import struct; f = open('a.rec', 'wb'); [f.write(struct.pack('<III', t, 0, len(d)) + d) for t, d in ((1, b'loom login: ada\\r\\n'), (2, b'Password: '), (90, b'ok'))]\""
LSYNC = 'mkdir a b; printf \'settings { nodaemon = true }\\nsync { default.direct, source = "%s/a", target = "%s/b" }\\n\' $PWD $PWD >l.lua'
ROBOT = "printf '*** Test Cases ***\\nWarp\\n    No Operation\\nWeft\\n    Sleep    60s\\n' >loom.robot"
DOIT = 'printf \'def task_warp():\\n    return {"actions": ["sleep 60"]}\\n\' >dodo.py'
PNG = "ffmpeg -v error -f lavfi -i testsrc=s=3000x2000 -frames:v 1 a.png"
TOX = "printf '[tox]\\nskipsdist = true\\n[testenv:warp]\\nskip_install = true\\nallowlist_externals = sleep\\ncommands = sleep 60\\n' >tox.ini"

WORKERS = placed([
    works("ffmpeg", "ffmpeg", "ffmpeg", "ffmpeg -hide_banner -f lavfi -i testsrc=s=1280x720 -t 900 a.mkv", r"frame=", rests=False),
    works("ffmpeg-null", "ffmpeg", "ffmpeg", "ffmpeg -v error -f lavfi -i testsrc=s=1280x720 -t 900 -f null -", r"null - *$", hard=True),
    works("opusenc", "opus-tools", "opusenc", "opusenc --comp 10 a.wav a.opus", r"%|realtime", WAVE, rests=False),
    works("xz", "xz-utils", "xz", "xz -9 -v big", r"%", BIG, rests=False),
    works("xz-quiet", "xz-utils", "xz", "xz -9 -c /dev/urandom >/dev/null", r"null *$", hard=True),
    works("pbzip2", "pbzip2", "pbzip2", "pbzip2 -v -p1 big", r"big|%", BIG, rests=False),
    works("lbzip2", "lbzip2", "lbzip2", "lbzip2 -n 1 big", r"big *$", BIG, hard=True),
    works("rzip", "rzip", "rzip", "rzip -P -9 big", r"%|big", BIG, rests=False),
    works("optipng", "optipng", "optipng", "optipng -o7 -zm1-9 a.png", r"(?i)trying|IDAT", PNG, rests=False),
    works("zopfli", "zopfli", "zopfli", "zopfli --i5000 a.png", r"a\.png *$", PNG, hard=True),
    works("povray", "povray", "povray", "povray +Ia.pov +W1600 +H1200 +A0.001 -D +V +WT1", r"(?i)rendered|%|Render", SCENE, rests=False),
    works("hashdeep", "hashdeep", "hashdeep", "hashdeep -e big", r"MB|%", "truncate -s 90G big", rests=False),
    works("rhash", "rhash", "rhash", "rhash -P --sha3-512 --whirlpool --gost12-512 big", r"%", BIG, rests=False),
    works("mbuffer", "mbuffer", "mbuffer", "mbuffer -R 200k -i big -o copy", r"(?i)summary|total|in @", BIG, rests=False),
    works("progress", "progress", "progress", "progress -m -w -p $(pgrep -n -x dd)", r"%", BIG + "; (timeout 40 dd if=big bs=1000 2>/dev/null | timeout 40 sh -c 'while head -c 100000 >/dev/null; do sleep 1; done' >/dev/null 2>&1 &); sleep 1", rests=False),
    works("scrub", "scrub", "scrub", "scrub -f big", r"\|\.*", BIG, rests=False),
    works("safecopy", "safecopy", "safecopy", "safecopy /dev/zero copy -R 1 --stage1", r"(?i)%|copying|\[", rests=False),
    works("foremost", "foremost", "foremost", "foremost -v -i big -o out", r"(?i)foremost|processing", BIG, rests=False),
    works("partclone", "partclone", "partclone.dd", "partclone.dd -s big -o - >/dev/null", r"Completed: +0", "truncate -s 90G big", rests=False),
    works("bonnie", "bonnie++", "bonnie++", "bonnie++ -u root -d . -s 400 -r 200 -n 0 -m box", r"(?i)writing|using", rests=False),
    works("ioping", "ioping", "ioping", "ioping -i 1 .", r"request=2|bytes", rests=False),
    works("stress", "stress", "stress", "stress --cpu 1 --timeout 60", r"dispatching"),
    works("memtester", "memtester", "memtester", "memtester 64M 50", r"(?i)loop|testing", rests=False),
    works("mbw", "mbw", "mbw", "mbw -n 5000 64", r"(?i)avg|memcpy|method", rests=False),
    works("primesieve", "primesieve-bin", "primesieve", "primesieve 1e13 -t1", r"%", rests=False),
    works("ecm", "gmp-ecm", "ecm", "echo '(2^1277-1)' | ecm 11e6", r"(?i)using b1|input", hard=True),
    works("minisat", "minisat", "minisat", "minisat a.cnf", r"(?i)conflicts|progress", MODEL, rests=False),
    works("cadical", "cadical", "cadical", "cadical -q a.cnf", r"a\.cnf *$", MODEL, hard=True),
    works("glpsol", "glpk-utils", "glpsol", "glpsol --lp a.lp", r"mip =|\+ *\d+:", LP, rests=False),
    works("rake", "rake", "rake", "rake", r"warp *$", RAKE),
    works("rspec", "ruby-rspec-core", "rspec", "rspec", r"^\. *$|rspec\n", SPEC),
    done("rspec-done", "ruby-rspec-core", "rspec", "rspec -f d", r"1 example", SPECS),
    works("tup", "tup", "tup", "tup", r"(?i)sleep 60|executing|parsing", TUP, rests=False),
    works("tox", "tox", "tox", "tox -e warp", r"sleep 60|create|warp", TOX),
    evolve(works("robot", "robotframework", "robot", "robot loom.robot", r"(?i)weft", ROBOT), version="python -m pip show robotframework | grep ^Version"),
    evolve(works("doit", "doit", "doit", "doit", r"warp", DOIT), version="python -m pip show doit | grep ^Version"),
    works("lighttpd", "lighttpd", "lighttpd", "lighttpd -D -f l.conf", r"(?i)server started|l\.conf *$", HTTPD),
    works("dnsmasq", "dnsmasq-base", "dnsmasq", "dnsmasq -d -C /dev/null -p 18053 -a 127.0.0.1 -R -h", r"started"),
    works("haproxy", "haproxy", "haproxy", "haproxy -f h.cfg -db -V", r"(?i)h\.cfg[\s\S]*$", HAPROXY),
    works("beanstalkd", "beanstalkd", "beanstalkd", "beanstalkd -V -l 127.0.0.1 -p 18300", r"(?i)pid|bind|backlog|18300 *$"),
    works("ngircd", "ngircd", "ngircd", "ngircd -n -f n.conf", r"(?i)listening|started", IRCD),
    works("supervisord", "supervisor", "supervisord", "supervisord -c s.conf", r"(?i)entered RUNNING", SUPERVISOR),
    works("webfsd", "webfs", "webfsd", "webfsd -F -d -i 127.0.0.1 -p 18084", r"18084[\s\S]*$", hard=True),
    works("dropbear", "dropbear-bin", "dropbear", "dropbear -F -E -r hk -p 127.0.0.1:2224", r"(?i)not backgrounding", "dropbearkey -t ed25519 -f hk"),
    works("iperf", "iperf", "iperf", "iperf -s -p 15202 -B 127.0.0.1", r"(?i)listening"),
    works("wrk", "wrk", "wrk", "wrk -t 1 -c 1 -d 60 http://127.0.0.1:18083/", r"(?i)running", SERVED),
    works("ab", "apache2-utils", "ab", "ab -t 60 -n 10000000 -c 1 http://127.0.0.1:18083/", r"(?i)patient", SERVED),
    works("siege", "siege", "siege", "siege -c 1 -d 1 -t 60S http://127.0.0.1:18083/", r"18083/ *$", SERVED + "; siege -C >/dev/null 2>&1", hard=True),
    works("lsyncd", "lsyncd", "lsyncd", "lsyncd l.lua", r"(?i)startup|finished|l\.lua *$", LSYNC),
    works("ttyplay", "ttyrec", "ttyplay", "ttyplay a.rec", r"Password: *$", TTYREC, hard=True, note="a recording with a question"),
    works("tcpdump", "tcpdump", "tcpdump", "tcpdump -n -i lo port 9", r"(?i)listening on"),
    works("ip-monitor", "iproute2", "ip", "ip monitor", r"monitor *$", hard=True),
    works("wait-for-it", "wait-for-it", "wait-for-it", "wait-for-it -t 60 127.0.0.1:1", r"waiting"),
    works("retry", "retry", "retry", "retry -t 9 -d 60 -- false", r"(?i)retry|false *$"),
    works("lockfile", "procmail", "lockfile", "touch a.lock; lockfile -60 a.lock", r"a\.lock *$", hard=True),
    works("tsp", "task-spooler", "tsp", "TS_SOCKET=$PWD/s tsp sleep 60; TS_SOCKET=$PWD/s tsp -w", r"^0 *$", hard=True),
    works("ts", "moreutils", "ts", "(echo 'Continue? [Y/n]'; sleep 60) | ts", r"\[Y/n\] *$", hard=True, note="it stamps what another prints"),
    works("mpstat", "sysstat", "mpstat", "mpstat 1", r"all[\s\S]*all", rests=False),
    works("pidstat", "sysstat", "pidstat", "pidstat -p $$ 1", r"(?i)command", rests=False),
    works("iostat", "sysstat", "iostat", "iostat 1", r"avg-cpu", rests=False, sizes=("large",)),
    works("ifstat", "ifstat", "ifstat", "ifstat -i lo 1", r"\d\.\d\d", rests=False),
    works("dstat", "dstat", "dstat", "dstat --nocolor -c 1", r"\d[\s\S]*\d", rests=False),
    works("morse", "bsdgames", "morse", "(echo loom; sleep 60) | morse -s", r"morse -s[\s\S]*$", hard=True),
    works("primes", "bsdgames", "primes", "primes 1 >/dev/null", r"null *$", hard=True),
    works("nbd-server", "nbd-server", "nbd-server", "truncate -s 1M a.img; nbd-server -d 127.0.0.1@18109 $PWD/a.img", r"a\.img[\s\S]*$", hard=True),
    works("lynis", "lynis", "lynis", "lynis audit system -Q --no-colors", r"(?i)\[\+\]", rests=False),
    works("rkhunter", "rkhunter", "rkhunter", "rkhunter -c --sk --nocolors", r"(?i)checking", rests=False),
    done("ab-done", "apache2-utils", "ab", "ab -n 5 -c 1 http://127.0.0.1:18083/", r"(?i)longest request", SERVED),
    done("xz-done", "xz-utils", "xz", "xz a.txt", r"(?i)exists", "touch a.txt a.txt.xz"),
    done("mpstat-done", "sysstat", "mpstat", "mpstat 1 1", r"(?i)average"),
    done("retry-done", "retry", "retry", "retry -t 2 -d 1 -- false", r"(?i)(?:retry|gave|return|false)"),
    done("wait-for-it-done", "wait-for-it", "wait-for-it", "wait-for-it -t 1 127.0.0.1:1", r"timeout occurred"),
    evolve(done("doit-done", "doit", "doit", "doit", r"warp", "printf 'def task_warp():\\n    return {\"actions\": [\"true\"]}\\n' >dodo.py"), version="python -m pip show doit | grep ^Version"),
    done("hashdeep-done", "hashdeep", "hashdeep", "hashdeep a.txt", r"a\.txt", "echo hi >a.txt"),
    done("stress-done", "stress", "stress", "stress --cpu 1 --timeout 1", r"successful"),
])  # fmt: skip
