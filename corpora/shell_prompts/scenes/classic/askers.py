"""Programs that do one thing and ask on the way, or read in silence: what they ask, and what they then do."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

from typing import Any

from corpora.shell_prompts.scenes.classic.made import packaged, placed
from corpora.shell_prompts.stage import Scene

HG = "printf '[ui]\\nusername = ada <ada@box>\\ninterface = text\\n' >.hgrc; hg init r; cd r; seq 1 20 >lines; hg add -q lines; hg commit -qm one"
SVN = "svnadmin create r; svn co -q file://$PWD/r w; cd w; echo 1 >a; svn add -q a; svn ci -qm 1; cd ..; svn co -q file://$PWD/r v; echo 2 >w/a; svn ci -qm 2 w; echo 3 >v/a"
DARCS = "mkdir r; cd r; darcs init -q; echo 1 >a; darcs add -q a"
FOSSIL = "export USER=dev; fossil init r.fossil; mkdir w; cd w; fossil open ../r.fossil; echo 1 >a; fossil add a"
CVS = "cvs -d $PWD/r init; mkdir m; cd m; echo 1 >a; cvs -d $OLDPWD/r import -m one mod v r0; cd ..; rm -r m; cvs -d $PWD/r co mod; echo 2 >mod/a"
PASS = "gpg --batch --passphrase '' --quick-gen-key ada; pass init ada; echo abc | pass insert -e box/ada"
TRASH = "touch notes.txt; trash-put notes.txt"
TWINS = "echo same >a.txt; cp a.txt b.txt; cp a.txt c.txt"
UNISON = "mkdir a b; echo 1 >a/one; echo 2 >b/two"
MAKE = "printf 'all: a.o b.o\\na.o:\\n\\t@echo cc -c a.c\\n\\t@sleep 60\\nb.o:\\n' >Makefile"
FAT = "truncate -s 2M fat.img; mkfs.fat fat.img >/dev/null; printf '\\377\\377' | dd of=fat.img bs=1 seek=514 conv=notrunc"
PAIR = "echo one >a.txt; echo two >b.txt"
PACKED = "echo hello >a.txt; "


def asks(
    id: str,
    package: str,
    program: str,
    command: str,
    kind: str | None,
    until: str,
    before: str = "",
    *steps: tuple[str, str],
    **more: Any,
) -> Scene:
    """A question that this command leads to."""
    return Scene(
        id, program, command, kind=kind, until=until, before=before, steps=steps, version=packaged(package), **more
    )


def works(
    id: str,
    package: str,
    program: str,
    command: str,
    until: str,
    before: str = "",
    *steps: tuple[str, str],
    state: str = "working",
    **more: Any,
) -> Scene:
    """Something that takes its time."""
    return Scene(
        id, program, command, state=state, until=until, before=before, steps=steps, version=packaged(package), **more
    )


def done(id: str, package: str, program: str, command: str, until: str, *more: Any, **named: Any) -> Scene:
    """It has ended, and the shell is back."""
    return works(id, package, program, command, until + r"[\s\S]*\$ *$", *more, state="ended", **named)


ASKERS = placed([
    asks("wipe", "wipe", "wipe", "wipe a.txt", "confirm", r"\? \(Yes/No\) *$", PAIR, harmful=False),
    done("wipe-no", "wipe", "wipe", "wipe a.txt", r"No", PAIR, (r"\(Yes/No\) *$", "No Enter")),
    asks("trash-restore", "trash-cli", "trash-restore", "trash-restore", "select", r"\]: *$", TRASH),
    asks("icp", "renameutils", "imv", "imv a.txt", "text", r"> *a\.txt *$", PAIR, hard=True),
    asks("arj", "arj", "arj", "arj e a.arj", "confirm", r"\? *$", PACKED + "arj a a.arj a.txt"),
    asks("lha", "lhasa", "lha", "lha e a.lzh", "select", r"\)\?? *$", PACKED + "jlha a a.lzh a.txt"),
    asks("lz4", "lz4", "lz4", "lz4 a.txt a.txt.lz4", "confirm", r"\) ?\?? *:? *$", PACKED + "lz4 -q a.txt a.txt.lz4"),
    asks("pigz", "pigz", "pigz", "pigz -k a.txt", "confirm", r"\)\? *$", PACKED + "pigz -k a.txt"),
    done("pigz-no", "pigz", "pigz", "pigz -k a.txt", r"n$", PACKED + "pigz -k a.txt", (r"\)\? *$", "n Enter")),
    asks("compress", "ncompress", "compress", "compress a.txt", "confirm", r"\? *$", PACKED + "touch a.txt.Z; for i in $(seq 2000); do echo hello; done >a.txt"),
    asks("unar", "unar", "unar", "unar a.zip", "select", r"[)?] *$", PACKED + "python3 -m zipfile -c a.zip a.txt"),
    works("plzip", "plzip", "plzip", "plzip -9 -vv big", r"plzip", "head -c 900000000 /dev/zero | tr '\\0' 'a' >big", rests=False),
    asks("ccrypt", "ccrypt", "ccrypt", "ccrypt a.txt", "secret", r"key: *$", PAIR),
    asks("ccrypt-repeat", "ccrypt", "ccrypt", "ccrypt a.txt", "secret", r"\(repeat\) *$", PAIR, (r"key: *$", "abc Enter")),
    asks("mcrypt", "mcrypt", "mcrypt", "mcrypt a.txt", "secret", r"passphrase: *$", PAIR),
    asks("scrypt", "scrypt", "scrypt", "scrypt enc a.txt a.enc", "secret", r"passphrase: *$", PAIR),
    asks("steghide", "steghide", "steghide", "steghide embed -cf a.wav -ef a.txt", "secret", r"(?i)passphrase: *$", PAIR + "; python3 -c \"import wave; w = wave.open('a.wav', 'wb'); w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(bytes(range(256)) * 200)\""),
    asks("minisign", "minisign", "minisign", "minisign -G -p a.pub -s a.key", "secret", r"Password: *$"),
    asks("signify", "signify-openbsd", "signify", "signify-openbsd -G -p a.pub -s a.sec", "secret", r"passphrase: *$"),
    asks("certtool", "gnutls-bin", "certtool", "certtool --generate-request --load-privkey k.pem", "text", r"Country name[^\n]*: *$", "certtool --generate-privkey --ecc --outfile k.pem"),
    works("certtool-key", "gnutls-bin", "certtool", "certtool --generate-dh-params --bits 8192", r"Generating[\s\S]*$"),
    asks("encfs", "encfs", "encfs", "encfs $PWD/a $PWD/b", "select", r"\?> *$", "mkdir a b"),
    asks("gocryptfs", "gocryptfs", "gocryptfs", "gocryptfs -init a", "secret", r"Password: *$", "mkdir a"),
    asks("grub-mkpasswd", "grub-common", "grub-mkpasswd-pbkdf2", "grub-mkpasswd-pbkdf2", "secret", r"password: *$"),
    asks("vncpasswd", "tigervnc-tools", "vncpasswd", "tigervncpasswd", "secret", r"Password: *$"),
    asks("vncpasswd-view", "tigervnc-tools", "vncpasswd", "tigervncpasswd", "confirm", r"\? *$", "", (r"Password: *$", "abcdefg Enter"), (r"Verify: *$", "abcdefg Enter")),
    asks("mosquitto-passwd", "mosquitto", "mosquitto_passwd", "mosquitto_passwd -c a.pw ada", "secret", r"Password: *$"),
    works("mosquitto", "mosquitto", "mosquitto", "mosquitto -p 18831", r"(?i)running|listen"),
    asks("mkpasswd", "whois", "mkpasswd", "mkpasswd", "secret", r"Password: *$"),
    asks("ldapwhoami", "ldap-utils", "ldapwhoami", "ldapwhoami -x -W -D cn=ada -H ldap://127.0.0.1:1", "secret", r"Password: *$"),
    asks("login", "login", "login", "login", "login", r"login: *$"),
    asks("login-password", "login", "login", "login ada", "secret", r"Password: *$"),
    asks("chage", "passwd", "chage", "chage games", "text", r"\]: *$"),
    asks("gpasswd", "passwd", "gpasswd", "gpasswd users", "secret", r"Password: *$"),
    asks("visudo", "sudo", "visudo", "EDITOR=/bin/true visudo -f rules", "select", r"What now\? *$", "echo what >rules; chmod 440 rules"),
    asks("at", "at", "at", "at 23:59", "text", r"at> *$"),
    asks("select-editor", "sensible-utils", "select-editor", "select-editor", "select", r"\]: *$"),
    asks("update-alternatives", "dpkg", "update-alternatives", "update-alternatives --config pager", "select", r": *$"),
    asks("tzselect", "libc-bin", "tzselect", "tzselect", "select", r"#\? *$"),
    asks("mkreiserfs", "reiserfsprogs", "mkreiserfs", "mkreiserfs -f disk.img", "confirm", r":? *$", "truncate -s 64M disk.img"),
    asks("reiserfsck", "reiserfsprogs", "reiserfsck", "reiserfsck disk.img", "confirm", r"do\): *$", "truncate -s 64M disk.img; mkreiserfs -qff disk.img"),
    asks("jfs-mkfs", "jfsutils", "jfs_mkfs", "jfs_mkfs disk.img", "confirm", r"\) *$", "truncate -s 32M disk.img"),
    asks("fsck-fat", "dosfstools", "fsck.fat", "fsck.fat fat.img", "select", r"\? *$", FAT),
    asks("fdupes", "fdupes", "fdupes", "fdupes -dP .", "select", r"\]: *$|> *$", TWINS),
    asks("jdupes", "jdupes", "jdupes", "jdupes -d .", "select", r"all\): *$", TWINS),
    asks("unison", "unison", "unison", "unison -ui text a b", "press_key", r"\.? *$|continue", UNISON),
    asks("unison-action", "unison", "unison", "unison -ui text -auto a b", "confirm", r"\[\] *$", UNISON, (r"return|continue|\[<spc>\]", "Enter")),
    asks("hg-commit-i", "mercurial", "hg", "cd r; hg commit -i -m two", "select", r"\[Ynesfdaq\?\] *$", HG + "; sed -i '2s/$/ two/' lines"),
    asks("hg-hunk", "mercurial", "hg", "cd r; hg commit -i -m two", "select", r"record change 1/2[\s\S]*\[Ynesfdaq\?\] *$", HG + "; sed -i '2s/$/ two/;18s/$/ two/' lines", (r"\[Ynesfdaq\?\] *$", "y Enter")),
    done("hg-log", "mercurial", "hg", "cd r; hg log", r"summary", HG),
    asks("svn-conflict", "subversion", "svn", "svn up v", "select", r": *$", SVN),
    asks("svn-password", "subversion", "svn", "svn --username ada info svn://127.0.0.1:13690/r", "secret", r"Password for 'ada': *$", "svnadmin create r; printf '[general]\\nanon-access = none\\npassword-db = passwd\\n' >r/conf/svnserve.conf; (timeout 30 svnserve -d --foreground -r . --listen-port 13690 --listen-host 127.0.0.1 >/dev/null 2>&1 &); sleep 1"),
    asks("darcs-email", "darcs", "darcs", "cd r; darcs record -m one", "text", r"\? *$", DARCS),
    asks("darcs-record", "darcs", "darcs", "cd r; darcs record -A ada -m one", "select", r"options: *$", DARCS),
    asks("fossil-empty", "fossil", "fossil", "cd w; USER=dev EDITOR=true fossil commit", "confirm", r"\)\? *$|\? *$", FOSSIL),
    asks("cvs-release", "cvs", "cvs", "cvs -d $PWD/r release mod", "confirm", r": *$", CVS),
    asks("rcs-ci", "rcs", "ci (rcs)", "ci a.txt", "text", r">> *$", PAIR),
    asks("pass-insert", "pass", "pass", "pass insert box/eve", "secret", r": *$", PASS),
    asks("pass-overwrite", "pass", "pass", "pass insert box/ada", "confirm", r"\] *$", PASS),
    asks("pass-rm", "pass", "pass", "pass rm box/ada", "confirm", r"\] *$", PASS),
    done("pass-ls", "pass", "pass", "pass", r"ada", PASS),
    asks("gh-login", "gh", "gh", "gh auth login", "select", r"\?[\s\S]*GitHub\.com"),
    asks("httrack", "httrack", "httrack", "httrack", "text", r":? *$"),
    asks("dh-make", "dh-make", "dh_make", "cd acme-1.0; USER=dev dh_make --createorig", "select", r"\? *$", "mkdir acme-1.0; touch acme-1.0/a"),
    asks("xargs-p", "findutils", "xargs", "seq 2 | xargs -p -n1 echo", "confirm", r"\?\.\.\. *$", hard=True),
    asks("sfdisk", "fdisk", "sfdisk", "sfdisk disk.img", "repl_prompt", r">>> *$", "truncate -s 20M disk.img"),
    asks("ispell", "ispell", "ispell", "ispell a.txt", "select", r"for help *$", "printf 'helo wrold\\n' >a.txt"),
    asks("hunspell", "hunspell", "hunspell", "hunspell -d en_US a.txt", "select", r"for help *$", "printf 'helo wrold\\n' >a.txt"),
    asks("tr", "coreutils", "tr", "tr a-z A-Z", "text", r"HELLO *$", "", (r"A-Z$", "hello Enter"), hard=True, note="no prompt at all"),
    asks("tac", "coreutils", "tac", "tac", "text", r"hello *$", "", (r"tac$", "hello Enter"), hard=True, note="no prompt at all"),
    asks("sort", "coreutils", "sort", "sort -u", "text", r"sort -u *$", hard=True, note="no prompt at all"),
    works("sort-busy", "coreutils", "sort", "seq 40000000 | sort -R | head -3", r"head -3 *$", hard=True),
    asks("factor", "coreutils", "factor", "factor", "text", r"12: 2 2 3 *$", "", (r"factor$", "12 Enter"), hard=True, note="no prompt at all"),
    works("factor-busy", "coreutils", "factor", "factor 1522605027922533360535618378132637429718068114961380688657908494580122963258952897654000350692006139", r"6139 *$", hard=True),
    asks("m4", "m4", "m4", "m4", "text", r"2 *$", "", (r"m4$", "eval(1+1) Enter"), hard=True, note="no prompt at all"),
    asks("mawk", "mawk", "mawk", "mawk '{ print NF }'", "text", r"NF }' *$", hard=True, note="no prompt at all"),
    works("mawk-busy", "mawk", "mawk", "mawk 'BEGIN { while (1) i++ }'", r"}' *$", hard=True),
    asks("tee", "coreutils", "tee", "tee notes.txt", "text", r"notes\.txt *$", hard=True, note="no prompt at all"),
    works("ccrypt-busy", "ccrypt", "ccrypt", "ccrypt big", r"repeat\) *$", "head -c 900000000 /dev/zero >big", (r"key: *$", "abc Enter"), (r"\(repeat\) *$", "abc Enter"), rests=False, hard=True, note="answered"),
    works("scrypt-busy", "scrypt", "scrypt", "scrypt enc -t 60 a.txt a.enc", r"confirm[^\n]*: *$", PAIR, (r"enter passphrase: *$", "abc Enter"), (r"confirm passphrase: *$", "abc Enter"), rests=False, hard=True, note="answered"),
    works("lrzip", "lrzip", "lrzip", "lrzip -z big", r"%|big", "head -c 200000000 /dev/urandom >big", rests=False),
    works("arj-busy", "arj", "arj", "arj a -m1 a.arj big", r"%", "head -c 400000000 /dev/urandom >big", rests=False),
    works("pigz-busy", "pigz", "pigz", "pigz -11 -c big >/dev/null", r"null *$", "head -c 90000000 /dev/urandom >big", hard=True),
    works("zpaq", "zpaq", "zpaq", "zpaq add a.zpaq big -method 5", r"%|Adding|big", "head -c 90000000 /dev/urandom >big", rests=False),
    done("lz4-no", "lz4", "lz4", "lz4 a.txt a.txt.lz4", r"N$", PACKED + "lz4 -q a.txt a.txt.lz4", (r"\? *$", "N Enter")),
    done("compress-no", "ncompress", "compress", "compress a.txt", r"n$", PACKED + "touch a.txt.Z; for i in $(seq 2000); do echo hello; done >a.txt", (r"\? *$", "n Enter")),
    done("reiserfsck-no", "reiserfsprogs", "reiserfsck", "reiserfsck disk.img", r"No", "truncate -s 64M disk.img; mkreiserfs -qff disk.img", (r"do\): *$", "No Enter")),
    done("pass-rm-no", "pass", "pass", "pass rm box/ada", r"n$", PASS, (r"\] *$", "n Enter")),
    done("darcs-quit", "darcs", "darcs", "cd r; darcs record -A ada -m one", r"q", DARCS, (r"options: *$", "q")),
    done("visudo-exit", "sudo", "visudo", "EDITOR=/bin/true visudo -f rules", r"x", "echo what >rules; chmod 440 rules", (r"now\? *$", "x Enter")),
    done("tzselect-left", "libc-bin", "tzselect", "tzselect", r"\^C", "", (r"#\? *$", "C-c")),
    done("hg-quit", "mercurial", "hg", "cd r; hg commit -i -m two", r"abort|cancel", HG + "; sed -i '2s/$/ two/' lines", (r"\[Ynesfdaq\?\] *$", "q Enter")),
    works("xargs", "findutils", "xargs", "echo 60 | xargs -t sleep", r"^sleep 60 *$"),
    works("tr-busy", "coreutils", "tr", "yes | tr y n >/dev/null", r"null *$", hard=True),
    works("tee-busy", "coreutils", "tee", "(echo 'Save it? [y/n]'; sleep 60) | tee notes.txt", r"n\] *$", hard=True),
    asks("figlet", "figlet", "figlet", "figlet", "text", r"\|", "", (r"figlet$", "It Space weaves Enter"), hard=True, note="no prompt at all"),
    works("make", "make", "make", "make", r"a\.c *$", MAKE),
    asks("ftp-name", "inetutils-ftp", "ftp (inetutils)", "inetutils-ftp 127.0.0.1 2121", "login", r"\): *$", "python3 -c \"import socket, os; s = socket.create_server(('127.0.0.1', 2121)); os.fork() and os._exit(0); os.setsid(); s.settimeout(15); c, _ = s.accept(); c.send(b'220 ready\\r\\n'); import time; time.sleep(15)\" >/dev/null 2>&1"),
])  # fmt: skip
