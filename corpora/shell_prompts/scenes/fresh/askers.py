"""What does one thing and asks on the way (overwrite, proceed, choose, sign in, set up), reads in silence, or has done it."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from corpora.shell_prompts.scenes.classic.askers import asks, done, works
from corpora.shell_prompts.scenes.classic.made import typed
from corpora.shell_prompts.scenes.fresh.sizes import placed

TEXT = "echo hello >a.txt"
TWO = "echo one >a.txt; echo two >b.txt"
DAR = "echo hello >a.txt; dar -Q -c old -g a.txt"
DEB = "mkdir -p d/DEBIAN; printf 'Package: acme\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: Ada <ada@box>\\nDescription: A loom\\n it weaves\\n' >d/DEBIAN/control; dpkg-deb -b d acme.deb"
PKG = "mkdir -p d/opt/acme db; echo hi >d/opt/acme/a; printf 'pkgname = acme\\npkgver = 1.0-1\\npkgdesc = A loom\\nsize = 3\\narch = any\\n' >d/.PKGINFO; tar -C d -czf acme.pkg.tar.gz .PKGINFO opt"
RSA = "/usr/share/easy-rsa/easyrsa init-pki"
CA = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=loom -keyout k.pem -out ca.pem"
SSHD = "mkdir -p .ssh; dropbearkey -t ed25519 -f hk; (timeout 40 dropbear -F -E -r hk -p 127.0.0.1:2223 >/dev/null 2>&1 &); sleep 1"
PLAY = "printf -- '- hosts: localhost\\n  connection: local\\n  gather_facts: false\\n  vars_prompt:\\n    - name: branch\\n      prompt: Which branch\\n      private: false\\n  tasks:\\n    - pause:\\n' >p.yml"
PAUSE = (
    "printf -- '- hosts: localhost\\n  connection: local\\n  gather_facts: false\\n  tasks:\\n    - pause:\\n' >p.yml"
)
NAP = "printf -- '- hosts: localhost\\n  connection: local\\n  gather_facts: false\\n  tasks:\\n    - pause:\\n        seconds: 60\\n' >p.yml"
KCONFIG = 'printf \'mainmenu "Loom"\\nconfig WARP\\n\\tbool "Weave the warp"\\nconfig WEFT\\n\\tbool "Weave the weft"\\n\\tdefault y\\n\' >Kconfig'
BTRFS = "truncate -s 128M disk.img; mkfs.btrfs -q disk.img"
TODO = "mkdir .todo; echo 'export TODO_DIR=$HOME; export TODO_FILE=$HOME/todo.txt; export DONE_FILE=$HOME/done.txt; export REPORT_FILE=$HOME/report.txt' >.todo/config; echo 'Card the wool' >todo.txt"
RCS = "echo one >a.txt; ci -q -t-loom -u a.txt; chmod +w a.txt; echo two >>a.txt"
BRZ = "brz whoami 'ada <ada@box>'; brz init -q r; cd r; echo one >a; brz add -q; brz commit -qm one; echo two >>a"
SOURCE = "mkdir acme-1.0; echo one >acme-1.0/a; tar czf acme_1.0.orig.tar.gz acme-1.0; mkdir -p acme-1.0/debian/source; cd acme-1.0; echo '3.0 (quilt)' >debian/source/format; printf 'acme (1.0-1) unstable; urgency=low\\n\\n  * One.\\n\\n -- Ada <ada@box>  Mon, 23 Nov 2026 10:00:00 +0000\\n' >debian/changelog; printf 'Source: acme\\nMaintainer: Ada <ada@box>\\n\\nPackage: acme\\nArchitecture: all\\nDescription: loom\\n' >debian/control; echo two >>a"
MH = "mkdir Mail; echo 'Path: Mail' >.mh_profile"
HASH = 'perl -e \'print "ada:" . crypt("zq8zzzzz", "ab") . "\\n"\' >pw'
BAK = "touch a.txt a.bak"
ONCE = "echo same >a.txt; cp a.txt b.txt; rmlint -o sh:rmlint.sh . >/dev/null"
REPO = "borg init -e none r"
JOB = "echo '0 4 * * * weave' | crontab -"
NSS = "mkdir db; certutil -N -d sql:db --empty-password"

ASKERS = placed([
    done("lzop", "lzop", "lzop", "lzop a.txt", r"not overwritten", TEXT + "; lzop a.txt"),
    asks("cpio", "cpio", "cpio", "cpio -ir <a.cpio", "text", r"-> *$", TEXT + "; echo a.txt | cpio -o >a.cpio"),
    asks("pax", "pax", "pax", "pax -rif a.tar", "text", r"Input > *$", TEXT + "; tar cf a.tar a.txt"),
    asks("dar", "dar", "dar", "dar -c old -g a.txt", "confirm", r"Esc[^\n]*\] *$", DAR),
    done("dar-no", "dar", "dar", "dar -c old -g a.txt", r"Escaping[\s\S]*Escaping", DAR, (r"old slices[\s\S]*NO\] *$", "Escape"), (r"continue[\s\S]*NO\] *$", "Escape")),
    asks("gdebi", "gdebi-core", "gdebi", "gdebi acme.deb", "confirm", r"\[y/N\]: *$", DEB),
    asks("gdebi-de", "gdebi-core", "gdebi", "gdebi acme.deb", "confirm", r"\[j/N\]: *$|\?[^\n]*: *$", DEB, language="de_DE.UTF-8"),
    done("gdebi-no", "gdebi-core", "gdebi", "gdebi acme.deb", r"n$", DEB, (r"\[y/N\]: *$", "n Enter")),
    asks("debfoster", "debfoster", "debfoster", "debfoster -k $PWD/keepers", "select", r"\[H\]elp: *$"),
    asks("debfoster-fr", "debfoster", "debfoster", "debfoster -k $PWD/keepers", "select", r"\][^\n]*: *$", language="fr_FR.UTF-8"),
    asks("pacman", "pacman-package-manager", "pacman", "pacman -U -b db -r / --cachedir db acme.pkg.tar.gz", "confirm", r"\[Y/n\] *$", PKG),
    asks("pacman-es", "pacman-package-manager", "pacman", "pacman -U -b db -r / --cachedir db acme.pkg.tar.gz", "confirm", r"\[S/n\] *$", PKG, language="es_ES.UTF-8"),
    done("pacman-no", "pacman-package-manager", "pacman", "pacman -U -b db -r / --cachedir db acme.pkg.tar.gz", r"n$", PKG, (r"\[Y/n\] *$", "n Enter")),
    asks("easyrsa-ca", "easy-rsa", "easyrsa", "/usr/share/easy-rsa/easyrsa build-ca", "secret", r"Passphrase: *$", RSA),
    asks("easyrsa-name", "easy-rsa", "easyrsa", "/usr/share/easy-rsa/easyrsa build-ca nopass", "text", r"\]: *$", RSA),
    asks("easyrsa-init", "easy-rsa", "easyrsa", "/usr/share/easy-rsa/easyrsa init-pki", "confirm", r"(?i)confirm removal: *$", RSA),
    asks("openvpn", "openvpn", "openvpn", "openvpn --client --dev null --remote 127.0.0.1 1 --ca ca.pem --auth-user-pass", "login", r"Username: *$", CA),
    asks("openvpn-password", "openvpn", "openvpn", "openvpn --client --dev null --remote 127.0.0.1 1 --ca ca.pem --auth-user-pass", "secret", r"Password: *$", CA, (r"Username: *$", "ada Enter")),
    works("openvpn-retry", "openvpn", "openvpn", "openvpn --client --dev null --remote 127.0.0.1 1 --proto tcp-client --ca ca.pem --auth-user-pass up", r"(?i)refused", CA + "; printf 'ada\\nx\\n' >up", note="it tries again by itself"),
    asks("certbot", "certbot", "certbot", "certbot certonly --config-dir c --work-dir w --logs-dir l", "select", r"cancel\): *$"),
    asks("certbot-email", "certbot", "certbot", "certbot register --config-dir c --work-dir w --logs-dir l", "text", r"cancel\): *$"),
    asks("age", "age", "age", "age -p -o a.age a.txt", "secret", r"\): *$", TEXT),
    asks("ssss-split", "ssss", "ssss-split", "ssss-split -t 2 -n 3", "secret", r"characters: *$"),
    asks("ssss-combine", "ssss", "ssss-combine", "ssss-combine -t 2", "text", r"Share \[1/2\]: *$"),
    asks("google-authenticator", "libpam-google-authenticator", "google-authenticator", "google-authenticator -Q none", "confirm", r"\(y/n\) *$"),
    asks("google-authenticator-code", "libpam-google-authenticator", "google-authenticator", "google-authenticator -Q none", "text", r"skip\): *$", "", (r"\(y/n\) *$", "y Enter")),
    asks("certutil", "libnss3-tools", "certutil", "mkdir db; certutil -N -d sql:db", "secret", r"new password: *$"),
    asks("certutil-keys", "libnss3-tools", "certutil", "certutil -R -d sql:db -s CN=loom -o a.req", "press_key", r"meter is full[\s\S]*\|", NSS),
    asks("modutil", "libnss3-tools", "modutil", "modutil -fips true -dbdir sql:db", "press_key", r"to continue: *$", NSS),
    asks("htdigest", "apache2-utils", "htdigest", "htdigest -c a.pw loom ada", "secret", r"New password: *$"),
    done("htdigest-differ", "apache2-utils", "htdigest", "htdigest -c a.pw loom ada", r"(?i)(?:match|verif)", "", (r"New password: *$", "one Enter"), (r"Re-type[^\n]*: *$", "two Enter")),
    asks("doveadm", "dovecot-core", "doveadm", "doveadm pw", "secret", r"new password: *$"),
    asks("slappasswd", "slapd", "slappasswd", "slappasswd", "secret", r"New password: *$"),
    asks("dbclient", "dropbear-bin", "dbclient", "dbclient -p 2223 ada@127.0.0.1", "confirm", r"\(y/n\) *$", SSHD),
    asks("dbclient-password", "dropbear-bin", "dbclient", "dbclient -y -p 2223 root@127.0.0.1", "secret", r"password: *$", SSHD),
    asks("plink", "putty-tools", "plink", "plink -P 2223 ada@127.0.0.1", "confirm", r"info\) *$", SSHD),
    asks("puttygen", "putty-tools", "puttygen", "puttygen -t ed25519 -o a.ppk", "secret", r"save key: *$"),
    asks("cryfs", "cryfs", "cryfs", "mkdir a b; cryfs a b", "confirm", r"Your choice \[[^\n]*\]: *$"),
    asks("ecryptfs-wrap", "ecryptfs-utils", "ecryptfs-wrap-passphrase", "ecryptfs-wrap-passphrase a", "secret", r"wrap: *$"),
    asks("ecryptfs-manager", "ecryptfs-utils", "ecryptfs-manager", "ecryptfs-manager", "select", r"selection: *$"),
    asks("fetchmail", "fetchmail", "fetchmail", "fetchmail -p pop3 -u ada 127.0.0.1", "secret", r"1: *$"),
    asks("s3cmd", "s3cmd", "s3cmd", "s3cmd --configure", "text", r"Access Key: *$"),
    asks("s3cmd-secret", "s3cmd", "s3cmd", "s3cmd --configure", "secret", r"Secret Key: *$", "", (r"Access Key: *$", "AKLOOM Enter")),
    asks("s3cmd-https", "s3cmd", "s3cmd", "s3cmd --configure", "confirm", r"HTTPS protocol[^\n]*: *$", "", (r"Access Key: *$", "AKLOOM Enter"), (r"Secret Key: *$", "weave Enter"), (r"Region[^\n]*: *$", "Enter"), (r"Endpoint[^\n]*: *$", "Enter"), (r"bucket[^\n]*: *$", "Enter"), (r"Encryption password: *$", "Enter"), (r"GPG program[^\n]*: *$", "Enter")),
    asks("khal-configure", "khal", "khal", "khal configure", "select", r"options[^\n]*: *$"),
    asks("timew", "timewarrior", "timew", "timew", "confirm", r"\(yes/no\) *$|\? *$"),
    asks("todo-del", "todotxt-cli", "todo-txt", "todo-txt del 1", "confirm", r"\(y/n\) *$", TODO),
    done("todo-no", "todotxt-cli", "todo-txt", "todo-txt del 1", r"(?:No tasks|n\b)", TODO, (r"\(y/n\) *$", "n Enter")),
    asks("tda", "devtodo", "tda (devtodo)", "tda", "text", r"text> *$"),
    asks("tda-priority", "devtodo", "tda (devtodo)", "tda", "select", r"priority[^\n]*> *\w*$", "", (r"text> *$", typed("card the wool"))),
    asks("ansible-vault", "ansible-core", "ansible-vault", "ansible-vault create a.yml", "secret", r"password: *$"),
    asks("ansible-playbook", "ansible-core", "ansible-playbook", "ansible-playbook p.yml", "text", r"Which branch: *$", PLAY),
    asks("ansible-pause", "ansible-core", "ansible-playbook", "ansible-playbook p.yml", "press_key", r"to continue[^\n]*", PAUSE),
    asks("ansible-become", "ansible-core", "ansible-playbook", "ansible-playbook -K p.yml", "secret", r"password: *$", PAUSE),
    works("ansible-nap", "ansible-core", "ansible-playbook", "ansible-playbook p.yml", r"(?i)pausing for 60", NAP, hard=True, note="it goes on after a while"),
    asks("sqlmap", "sqlmap", "sqlmap", "sqlmap --wizard", "text", r"\(-u\): *$"),
    asks("sqlmap-data", "sqlmap", "sqlmap", "sqlmap --wizard", "text", r"None\]: *$", "", (r"\(-u\): *$", "http://127.0.0.1:1/?id=1 Enter")),
    asks("sqlmap-level", "sqlmap", "sqlmap", "sqlmap --wizard", "select", r"^> *$|Hard[\s\S]*> *$", "", (r"\(-u\): *$", "http://127.0.0.1:1/?id=1 Enter"), (r"None\]: *$", "Enter")),
    asks("hydra-wizard", "hydra", "hydra-wizard", "hydra-wizard", "text", r": *$"),
    asks("kconfig-conf", "kconfig-frontends", "kconfig-conf", "kconfig-conf --oldaskconfig Kconfig", "confirm", r"\] *(\(NEW\))? *$", KCONFIG),
    asks("kconfig-mconf", "kconfig-frontends", "kconfig-mconf", "kconfig-mconf Kconfig", "select", r"< Help >", KCONFIG),
    asks("kconfig-mconf-exit", "kconfig-frontends", "kconfig-mconf", "kconfig-mconf Kconfig", "confirm", r"(?i)do you wish to save", KCONFIG, (r"< Help >", "Space Escape Escape")),
    asks("btrfstune", "btrfs-progs", "btrfstune", "btrfstune -u disk.img", "confirm", r"\[y/N\]: *$", BTRFS),
    works("btrfs-repair", "btrfs-progs", "btrfs", "btrfs check --repair disk.img", r"10 9 8", BTRFS, rests=False, note="it goes on after ten seconds"),
    asks("borg", "borgbackup", "borg", "borg init -e repokey r", "secret", r"passphrase: *$"),
    asks("borg-show", "borgbackup", "borg", "borg init -e repokey r", "confirm", r"\[yN\]: *$", "", (r"new passphrase: *$", "abc Enter"), (r"same passphrase[^\n]*: *$", "abc Enter")),
    asks("borg-delete", "borgbackup", "borg", "borg delete r", "confirm", r"continue: *$", REPO),
    done("borg-aborted", "borgbackup", "borg", "borg delete r", r"(?i)abort", REPO, (r"continue: *$", "no Enter")),
    works("borg-create", "borgbackup", "borg", "borg create --progress -C lzma,9 r::one big", r"big", REPO + "; head -c 400000000 /dev/urandom >big", rests=False),
    asks("duplicity", "duplicity", "duplicity", "duplicity . file://$PWD/b", "secret", r"(?i)passphrase[^\n]*: *$"),
    asks("duplicity-de", "duplicity", "duplicity", "duplicity . file://$PWD/b", "secret", r"(?i)pass(phrase|wort|satz)[^\n]*: *$", language="de_DE.UTF-8"),
    asks("reportbug", "reportbug", "reportbug", "reportbug", "select", r"\] *$"),
    asks("install-mh", "nmh", "install-mh (nmh)", "/usr/bin/mh/install-mh", "confirm", r"\? *$"),
    asks("comp-first", "nmh", "comp (nmh)", "EDITOR=true /usr/bin/mh/comp", "press_key", r"to continue: *$", MH),
    asks("comp", "nmh", "comp (nmh)", "EDITOR=true /usr/bin/mh/comp", "select", r"What now\? *$", MH, (r"to continue: *$", "Enter")),
    asks("mmv", "mmv", "mmv", "mmv '*.txt' '#1.bak'", "confirm", r"\? *$", BAK),
    asks("rmlint", "rmlint", "rmlint", "./rmlint.sh", "confirm", r"(?i)abort[^\n]*\s*$", ONCE),
    asks("crontab", "cron", "crontab", "crontab -i -r", "confirm", r"\(y/n\) *$", JOB),
    asks("rename-ul", "util-linux", "rename.ul", "rename.ul -i .txt .bak a.txt", "confirm", r"\? *$", BAK),
    asks("sdiff", "diffutils", "sdiff", "sdiff -o c.txt a.txt b.txt", "select", r"^% *$", TWO),
    asks("co", "rcs", "co (rcs)", "co -l a.txt", "confirm", r"\(n\): *$", RCS),
    asks("pwck", "passwd", "pwck", "pwck p /etc/shadow", "confirm", r"'what'\? *$", "echo what >p"),
    asks("pwck-ja", "passwd", "pwck", "pwck p /etc/shadow", "confirm", r"what[^\n]*\? *$", "echo what >p", language="ja_JP.UTF-8"),
    asks("brz-shelve", "brz", "brz", "cd r; brz shelve", "select", r"uit\): *$", BRZ),
    asks("dpkg-source", "dpkg-dev", "dpkg-source", "cd acme-1.0; EDITOR=true dpkg-source --commit", "text", r"name: *$", SOURCE),
    asks("cpan", "perl", "cpan", "cpan", "confirm", r"\] *$"),
    asks("perlbug", "perl", "perlbug", "perlbug", "text", r"[:?>\]] *$"),
    asks("pianobar", "pianobar", "pianobar", "pianobar", "login", r"Email: *$"),
    asks("pianobar-password", "pianobar", "pianobar", "pianobar", "secret", r"Password: *$", "", (r"Email: *$", "ada@box Enter")),
    asks("pwman3", "pwman3", "pwman3", "pwman3", "secret", r": *$"),
    asks("when", "when", "when", "when", "confirm", r"hit return\.? *$"),
    works("john", "john", "john", "john --incremental pw", r"(?i)loaded[\s\S]*$", HASH, hard=True, note="any key only shows its status"),
    asks("rev", "bsdextrautils", "rev", "rev", "text", r"mool *$", "", (r"rev$", "loom Enter"), hard=True, note="no prompt at all"),
    asks("wc", "coreutils", "wc", "wc -l", "text", r"wc -l *$", hard=True, note="no prompt at all"),
    asks("jq", "jq", "jq", "jq .name", "text", r"jq \.name *$", hard=True, note="no prompt at all"),
    works("jq-busy", "jq", "jq", "jq -n 'reduce range(1000000000) as $i (0; . + $i)'", r"i\)' *$", hard=True),
    works("cmp", "diffutils", "cmp", "cmp /dev/zero big", r"big *$", "truncate -s 900G big", hard=True),
    works("cksum", "coreutils", "cksum", "cksum /dev/zero", r"zero *$", hard=True),
])  # fmt: skip
