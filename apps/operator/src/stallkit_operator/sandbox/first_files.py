"""The five files of a new sandbox: its manifest, where its proxies are, and their configurations.  Pure.

A sandbox of bubblewrap that reaches two proxies of the user's own and nothing else: nginx gives credentials, tinyproxy
lets hosts through.  Both allow nothing yet (docs/remedies.md).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Mapping, Sequence

__all__ = ["first_files"]

_MANIFEST = """\
# What the sandbox {name} is made of: docs/sandboxes.md.  Start it: stallkit start --manifest {folder}/{name}.toml
name = {name_}
engine = "bwrap"
command = {command}
directory = {directory}
tools = {tools}
# For `stallkit stuck rebuild`: where its work is pushed, and what outlives it.
# repository = "git@git.example:acme/web.git"
# transcript = "/home/agent/.my-agent"

[proxies] # with bubblewrap the only things that it reaches
egress = "http://127.0.0.1:{egress}"
credential = "http://127.0.0.1:{credential}"
"""
_PROXIES = '''
[{name}.routes]
preset = "nginx"
file = "{folder}/routes.json"
rendered = "{folder}/routes.conf"
config = "{folder}/nginx.conf"
pid = "{folder}/nginx.pid"
url = "http://127.0.0.1:{credential}"

[{name}.egress]
preset = "tinyproxy"
file = "{folder}/hosts"
rendered = "{folder}/filter"
config = "{folder}/tinyproxy.conf"
pid = "{folder}/tinyproxy.pid"
url = "http://127.0.0.1:{egress}"
restart = ["sh", "-c", """cd {folder} && kill $(cat tinyproxy.pid) && while [ -e tinyproxy.pid ]; do sleep 0.1; done
exec tinyproxy -c {folder}/tinyproxy.conf"""]
'''
_NGINX = """\
# Start it: nginx -e stderr -c {folder}/nginx.conf
{user}worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/tmp;
    proxy_temp_path {folder}/tmp;
    fastcgi_temp_path {folder}/tmp;
    uwsgi_temp_path {folder}/tmp;
    scgi_temp_path {folder}/tmp;
    proxy_ssl_trusted_certificate /etc/ssl/certs/ca-certificates.crt;
    include {folder}/credentials.conf;
    server {{
        listen 127.0.0.1:{credential};
        include {folder}/routes.conf; # made by: stallkit routes edit {name}
    }}
}}
"""
_CREDENTIALS = """\
# One row for each credential that a route names as `auth`; then: stallkit routes reload {name}
# map "" $credential_github {{ default "ghp_..."; }}
"""
_TINYPROXY = """\
# Start it: tinyproxy -c {folder}/tinyproxy.conf
Port {egress}
Listen 127.0.0.1
PidFile "{folder}/tinyproxy.pid"
LogFile "{folder}/tinyproxy.log"
MaxClients 100
FilterDefaultDeny Yes
Filter "{folder}/filter"
"""


def first_files(
    name: str,
    folder: Path,
    proxies: Path,
    directory: Path,
    command: Sequence[str],
    tools: Sequence[Path],
    ports: tuple[int, int],
    user: str | None,
) -> Mapping[Path, str]:
    """The five files of the sandbox, and the two empty ones that the proxies include, each with its text.

    `proxies` is appended to; `ports` are those of the credential and the egress proxy; `user` is whom nginx serves as,
    if it is started as root.
    """
    credential, egress = ports
    given = {
        **{"name": name, "name_": json.dumps(name), "folder": folder, "credential": credential, "egress": egress},
        **{"command": json.dumps([*command]), "directory": json.dumps(str(directory))},
        **{"tools": json.dumps([*map(str, tools)]), "user": f"user {user};\n" if user else ""},
    }
    texts = {
        **{folder / f"{name}.toml": _MANIFEST, proxies: _PROXIES, folder / "nginx.conf": _NGINX},
        **{folder / "credentials.conf": _CREDENTIALS, folder / "tinyproxy.conf": _TINYPROXY},
        **{folder / "routes.conf": "", folder / "filter": ""},
    }
    return {path: text.format(**given) for path, text in texts.items()}
