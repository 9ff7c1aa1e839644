"""Kinds of planted secrets, as templates: a secret stands between ⟦ and ⟧, and what is drawn for it in braces.

`{m36}` is 36 letters and digits, `{u}` upper case and digits, `{l}` lower case and digits, `{x}` hexadecimal, `{b}`
base64, `{n}` bech32, `{d}` digits, `{w}` that many words of a seed phrase, `{p}` a password of a person, `{s}` such a
password with a sign inside, `{q}` one with a blank inside.  No template looks like a secret itself.
"""

from __future__ import annotations

import random
import re
import string

from attrs import frozen

# What the redactor's rules were written against, first.
KINDS: dict[str, tuple[str, ...]] = {
    "github": ("remote: ⟦ghp_{m36}⟧ is valid", "GITHUB_TOKEN=⟦ghs_{m36}⟧", "⟦github_pat_{m22}_{m59}⟧"),
    "gitlab": ("⟦glpat-{m20}⟧", "CI_JOB_TOKEN: ⟦glcbt-64_{m20}⟧", "deploy with ⟦gldt-{m20}⟧"),
    "aws id": ("aws_access_key_id = ⟦AKIA{u16}⟧", "using ⟦ASIA{u16}⟧"),
    "aws secret": ("aws_secret_access_key = ⟦{b40}⟧", "AWS Secret Access Key [None]: ⟦{b40}⟧"),
    "aws session": ("AWS_SESSION_TOKEN=⟦IQoJb3JpZ2luX2VjE{b200}⟧",),
    "google": ("key=⟦AIza{m35}⟧", "⟦ya29.{m60}⟧", "client secret ⟦GOCSPX-{m28}⟧"),
    "stripe": ("⟦sk_live_{m24}⟧", "⟦rk_test_{m24}⟧", "Your webhook signing secret is ⟦whsec_{m32}⟧ (^C to quit)"),
    "openai": ("OPENAI_API_KEY=⟦sk-proj-{m48}⟧", "Incorrect API key provided: ⟦sk-{m48}⟧."),
    "anthropic": ("❯ ⟦sk-ant-api03-{m80}⟧", "ANTHROPIC_API_KEY ⟦sk-ant-admin01-{m80}⟧"),
    "hugging face": ("Token: ⟦hf_{m34}⟧",),
    "npm": ("//registry.npmjs.org/:_authToken=⟦npm_{m36}⟧", "_auth=⟦{b32}⟧", "always-auth=true\n_password=⟦{b20}⟧"),
    "pypi": ("  password = ⟦pypi-AgEIcHlwaS5vcmc{m100}⟧",),
    "slack": ("⟦xoxb-{d12}-{d12}-{m24}⟧", "⟦xapp-1-{u11}-{d13}-{x64}⟧"),
    "slack webhook": ("https://hooks.slack.com/services/⟦T{u9}/B{u9}/{m24}⟧",),
    "discord": ("https://discord.com/api/webhooks/{d18}/⟦{m68}⟧", "bot ⟦MTI{m21}.{m6}.{m38}⟧ is online"),
    "teams webhook": (
        "https://acme.webhook.office.com/webhookb2/⟦{x8}-{x4}-{x4}-{x4}-{x12}@{x8}-{x4}-{x4}-{x4}-{x12}⟧"
        "/IncomingWebhook/⟦{x32}⟧/{x8}-{x4}-{x4}-{x4}-{x12}",
    ),
    "other webhook": ("curl -X POST https://ci.example.org/webhook/⟦{m32}⟧", "https://chat.example.org/hooks/⟦{l26}⟧"),
    "twilio": ("TWILIO_AUTH_TOKEN=⟦{x32}⟧", "⟦SK{x32}⟧"),
    "sendgrid": ("⟦SG.{m22}.{m43}⟧",),
    "jwt": ("token ⟦eyJhbGciOi{m24}.eyJzdWIiOi{m60}.{m43}⟧",),
    "key block": ("-----BEGIN OPENSSH PRIVATE KEY-----\n⟦{b70}⟧\n⟦{b70}⟧\n⟦{b30}⟧\n-----END OPENSSH PRIVATE KEY-----",),
    "password label": ("Password: ⟦{p}⟧", "password=⟦{s}⟧", '"password": "⟦{q}⟧"', "New password is ⟦{p}⟧"),
    "passphrase label": ("Passphrase: ⟦{w5}⟧", "Enter passphrase for key '/home/ada/.ssh/id_rsa': ⟦{s}⟧"),
    "short names": ("PASS=⟦{p}⟧", "pwd=⟦{p}⟧", "DB_PW=⟦{s}⟧", "psw: ⟦{s}⟧", "set pass=⟦{s}⟧"),
    "exported": ("$ export FOO_TOKEN=⟦{l20}⟧", "export DB_PASS='⟦{s}⟧'", "setenv API_SECRET ⟦{m20}⟧"),
    "German": ("Passwort: ⟦{p}⟧", "Ihr Kennwort lautet ⟦{p}⟧", "Zugangscode: ⟦{d6}⟧"),
    "French": ("Mot de passe : ⟦{p}⟧", "votre code de vérification est ⟦{d6}⟧"),
    "Spanish": ("Contraseña: ⟦{p}⟧", "Tu código de verificación es ⟦{d6}⟧", "clave secreta: ⟦{m16}⟧"),
    "Portuguese": ("Senha: ⟦{p}⟧", "palavra-passe: ⟦{s}⟧"),
    "Italian": ("La password è ⟦{p}⟧", "parola d'ordine: ⟦{p}⟧"),
    "Polish": ("Hasło: ⟦{p}⟧",),
    "Russian": ("Пароль: ⟦{p}⟧", "Ваш код подтверждения: ⟦{d6}⟧"),
    "Turkish": ("Şifre: ⟦{p}⟧", "Parola: ⟦{s}⟧"),
    "Dutch": ("Wachtwoord: ⟦{p}⟧",),
    "Czech": ("Heslo: ⟦{p}⟧",),
    "Swedish": ("Lösenord: ⟦{p}⟧",),
    "Chinese": ("密码：⟦{p}⟧", "您的验证码是⟦{d6}⟧", "密碼: ⟦{s}⟧"),
    "Japanese": ("パスワード：⟦{p}⟧", "認証コード: ⟦{d6}⟧", "パスワードは ⟦{p}⟧ です"),
    "Korean": ("비밀번호: ⟦{p}⟧", "인증번호 ⟦{d6}⟧"),
    "wide blanks": ("password\u3000：\u3000⟦{p}⟧", "token\u00a0=\u00a0⟦{m20}⟧", "ＰＡＳＳＷＯＲＤ：⟦{p}⟧"),
    "mysql": ("$ mysql -u root -p⟦{p}⟧ app", "mysqldump --password=⟦{s}⟧ app", "mysql -p'⟦{s}⟧' -h db"),
    "sshpass": ("sshpass -p ⟦{p}⟧ ssh ada@example.org", "sshpass -p'⟦{s}⟧' scp a b:"),
    "curl": ("curl -u ada:⟦{s}⟧ https://example.org", "curl --user 'ada:⟦{s}⟧' -s https://example.org"),
    "options": ("deploy --token ⟦{m24}⟧ --yes", "tool --api-key=⟦{l24}⟧", "tool --passphrase '⟦{q}⟧'"),
    "docker login": ("docker login -u ada -p ⟦{p}⟧ registry.example.org",),
    "authorization": ("Authorization: Basic ⟦{b28}⟧", "authorization: bearer ⟦{m40}⟧", "> Authorization: ⟦{m32}⟧"),
    "header": ("-H 'X-Api-Key: ⟦{m32}⟧'", "PRIVATE-TOKEN: ⟦{m20}⟧", "X-Vault-Token: ⟦s.{m24}⟧"),
    "cookie": ("Set-Cookie: sid=⟦{m32}⟧; Path=/; HttpOnly", "Cookie: theme=dark; session=⟦{m24}⟧"),
    "signed aws url": (
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=⟦AKIA{u16}⟧%2F20260101"
        "&X-Amz-Date=20260101T000000Z&X-Amz-Expires=900&X-Amz-Signature=⟦{x64}⟧",
    ),
    "signed google url": ("https://storage.googleapis.com/b/o?X-Goog-Expires=900&X-Goog-Signature=⟦{x128}⟧",),
    "azure signature": ("https://a.blob.core.windows.net/c/f?sv=2024-08-04&se=2026-12-31&sr=b&sp=r&sig=⟦{m42}⟧%3D",),
    "azure key": ("AccountName=acme;AccountKey=⟦{b86}⟧==;EndpointSuffix=core.windows.net",),
    "url": ("postgres://ada:⟦{s}⟧@db.example.org/app", "git clone https://⟦{x40}⟧@github.com/acme/app"),
    "pin": ("PIN: ⟦{d4}⟧", "Your PIN is ⟦{d6}⟧", "SIM PIN ⟦{d4}⟧"),
    "one-time code": ("Your code is ⟦{d6}⟧", "⟦{d6}⟧ is your verification code", "OTP: ⟦{d3} {d3}⟧", "Code: ⟦{d6}⟧"),
    "device code": ("! First copy your one-time code: ⟦{u4}-{u4}⟧", "enter the code ⟦{u4}-{u4}⟧ to authenticate"),
    "seed phrase": ("⟦{w12}⟧", "Recovery phrase: ⟦{w24}⟧", "mnemonic ⟦{w15}⟧"),
    "netrc": ("machine example.org login ada password ⟦{p}⟧", "machine example.org\n  login ada\n  password ⟦{s}⟧"),
    "pgpass": ("db.example.org:5432:app:ada:⟦{s}⟧", "*:*:*:postgres:⟦{p}⟧"),
    "row below": ("Your new API key:\n\n    ⟦{m32}⟧\n", "Initial password\n⟦{m12}⟧", "Token:\n  ⟦{x40}⟧"),
    "yaml and json": ("client_secret: ⟦{m32}⟧", '{"access_token":"⟦{m30}⟧","n":1}', "secretKey: '⟦{m20}⟧'"),
    "private key line": ("PrivateKey = ⟦{b43}⟧=", "client-key-data: ⟦LS0t{b120}⟧"),
}

# Written before the rules were, not used while they were made, and then learnt from.
ASIDE: dict[str, tuple[str, ...]] = {
    "redis": ("redis-cli -a ⟦{p}⟧ ping", "redis://default:⟦{m24}⟧@cache.example.org:6379/0", "requirepass ⟦{s}⟧"),
    "sql": ("ALTER USER ada WITH PASSWORD '⟦{s}⟧';", "CREATE USER 'ada'@'%' IDENTIFIED BY '⟦{p}⟧';"),
    "password hash": ("root:$6$⟦{m16}$/{m86}⟧:19000:0:99999:7:::", "ada:$2y$10$⟦{m53}⟧"),
    "one-time secret": ("otpauth://totp/Acme:ada?secret=⟦{U32}⟧&issuer=Acme",),
    "recovery codes": ("Recovery codes:\n  ⟦{l5}-{l5}⟧\n  ⟦{l5}-{l5}⟧", "backup code: ⟦{d4} {d4}⟧"),
    "wifi": ("wpa_passphrase home ⟦{p}⟧", 'psk="⟦{s}⟧"', "nmcli dev wifi connect home password ⟦{p}⟧"),
    "archive": ("7z x -p⟦{p}⟧ a.7z", "unzip -P ⟦{s}⟧ a.zip"),
    "openssl": ("openssl enc -aes-256-cbc -pass pass:⟦{s}⟧ -in a", "openssl rsa -passin pass:⟦{p}⟧ -in k.pem"),
    "ldap": ("ldapsearch -D cn=admin -w ⟦{p}⟧ -b dc=acme",),
    "smb": ("smbclient //srv/share -U ada%⟦{s}⟧", "mount -t cifs -o username=ada,password=⟦{p}⟧ //srv/a /mnt"),
    "piped": ("echo ⟦{s}⟧ | sudo -S apt update", "echo 'ada:⟦{s}⟧' | chpasswd"),
    "jdbc": ("jdbc:mysql://db/app?user=ada&password=⟦{p}⟧", "Server=db;User Id=sa;Password=⟦{s}⟧;"),
    "basic in text": ("curl -H 'Authorization: Basic ⟦{b36}⟧'", "proxy-authorization: basic ⟦{b24}⟧="),
    "telegram": ("https://api.telegram.org/bot⟦{d10}:AA{m33}⟧/getMe",),
    "docker config": ('"auths": {"ghcr.io": {"auth": "⟦{b32}⟧"}}', "⟦dckr_pat_{m27}⟧"),
    "digital ocean": ("⟦dop_v1_{x64}⟧",),
    "vault": ("hcp: ⟦hvs.{m90}⟧", "Unseal Key 1: ⟦{b44}⟧", "Initial Root Token: ⟦hvs.{m24}⟧"),
    "shop": ("⟦shpat_{x32}⟧", "⟦sq0atp-{m22}⟧"),
    "sentry": ("SENTRY_DSN=https://⟦{x32}⟧@o12345.ingest.sentry.io/67890",),
    "oauth callback": ("http://localhost:8085/?code=⟦4/0A{m60}⟧&scope=email", "/cb#access_token=⟦{m60}⟧&state=x"),
    "magic link": ("https://example.org/login?token=⟦{m40}⟧", "https://example.org/reset-password/⟦{m32}⟧"),
    "kubernetes": ("kubectl create secret generic db --from-literal=password=⟦{p}⟧", "token: ⟦{l6}.{l16}⟧"),
    "windows": ("net user ada ⟦{s}⟧ /add", "xfreerdp /v:srv /u:ada /p:⟦{s}⟧"),
    "ansible": ("ansible_become_pass: ⟦{s}⟧", "ansible_ssh_pass=⟦{p}⟧"),
    "Ukrainian": ("Пароль користувача: ⟦{p}⟧", "код підтвердження ⟦{d6}⟧"),
    "Hungarian and Finnish": ("Jelszó: ⟦{p}⟧", "Salasana: ⟦{p}⟧"),
    "more codes": ("Ihr Sicherheitscode: ⟦{d6}⟧", "验证码：⟦{d4}⟧", "G-⟦{d6}⟧ is your Google verification code"),
    "more files": ("htpasswd -b .htpasswd ada ⟦{p}⟧", "[default]\nuser = ada\npassword = ⟦{q}⟧"),
    "http form": ("POST /login user=ada&pass=⟦{p}⟧&go=1", "username: ada\npasscode: ⟦{d8}⟧"),
    "licence": ("License key: ⟦{u5}-{u5}-{u5}-{u5}-{u5}⟧",),
    "generated": ("pwgen 16 1\nGenerated password: ⟦{m16}⟧", "Temporary password for root@localhost: ⟦{s}⟧"),
}

# Written when those rules were done, and then learnt from as well.
FRESH: dict[str, tuple[str, ...]] = {
    "figma and notion": ("⟦figd_{m40}⟧", "⟦ntn_{d9}{m36}⟧"),
    "cloudflare": ("CF_API_TOKEN=⟦{m40}⟧", "X-Auth-Key: ⟦{x37}⟧"),
    "new relic": ("license_key: ⟦{x36}NRAL⟧", "⟦NRAK-{u27}⟧"),
    "tailscale": ("tailscale up --authkey=⟦tskey-auth-{m17}-{m32}⟧",),
    "terraform": ('token = "⟦{m14}.atlasv1.{m67}⟧"',),
    "docker swarm": ("docker swarm join --token ⟦SWMTKN-1-{l50}-{l25}⟧ 10.0.0.1:2377",),
    "kubeadm": ("kubeadm join 10.0.0.1:6443 --token ⟦{l6}.{l16}⟧ --discovery-token-ca-cert-hash sha256:{x64}",),
    "jupyter": ("http://127.0.0.1:8888/tree?token=⟦{x48}⟧", "http://localhost:8888/lab?token=⟦{x48}⟧"),
    "ngrok": ("ngrok config add-authtoken ⟦{m27}_{m21}⟧",),
    "zapier": ("https://hooks.zapier.com/hooks/catch/{d7}/⟦{l16}⟧/",),
    "google chat": ("https://chat.googleapis.com/v1/spaces/{m11}/messages?key=⟦AIza{m35}⟧&token=⟦{m43}⟧",),
    "mongo": ("mongodb+srv://ada:⟦{s}⟧@cluster0.example.net/?retryWrites=true", "mongosh -u ada -p ⟦{p}⟧"),
    "postgres": ("PGPASSWORD=⟦{p}⟧ psql -h db", "psql 'host=db user=ada password=⟦{s}⟧ dbname=app'"),
    "rabbit and kafka": ("amqp://guest:⟦{p}⟧@mq:5672/", 'username="ada" password="⟦{s}⟧";'),
    "spring": ("spring.datasource.password=⟦{s}⟧", "server.ssl.key-store-password: ⟦{p}⟧"),
    "rails and django": ("SECRET_KEY_BASE=⟦{x128}⟧", "SECRET_KEY = 'django-insecure-⟦{l50}⟧'"),
    "wordpress": ("define('DB_PASSWORD', '⟦{s}⟧');", "define( 'AUTH_KEY', '⟦{m64}⟧' );"),
    "php and python": ("$password = '⟦{s}⟧';", "conn = connect(user='ada', password='⟦{p}⟧')"),
    "XML": ("<password>⟦{s}⟧</password>", '<add key="ApiSecret" value="⟦{m32}⟧" />'),
    "maven and gradle": ("<passphrase>⟦{p}⟧</passphrase>", "signing.password=⟦{p}⟧"),
    "wireguard": ("PresharedKey = ⟦{b43}⟧=",),
    "borg and restic": ("export BORG_PASSPHRASE='⟦{q}⟧'", "RESTIC_PASSWORD=⟦{p}⟧ restic backup /"),
    "gpg": ("gpg --batch --passphrase ⟦{p}⟧ -d a.gpg", "gpg --passphrase-fd 0 <<< '⟦{s}⟧'"),
    "useradd": ("passwd ada <<< ⟦{p}⟧", "printf 'ada:⟦{p}⟧' | sudo chpasswd"),
    "question and answer": ("? Enter your API token: ⟦{m32}⟧", "? What is your password? ⟦{s}⟧"),
    "Arabic and Hebrew": ("كلمة المرور: ⟦{p}⟧", "סיסמה: ⟦{p}⟧"),
    "Greek and Hindi": ("Κωδικός πρόσβασης: ⟦{p}⟧", "पासवर्ड: ⟦{p}⟧"),
    "messages": ("Use ⟦{d6}⟧ to verify your account", "⟦{d6}⟧ est votre code de confirmation"),
    "apple and steam": ("Your Apple ID code is: ⟦{d6}⟧. Don't share it", "Your Steam Guard code: ⟦{u5}⟧"),
    "server's first start": ("Jenkins initial setup password:\n\n⟦{x32}⟧\n", "generated root password: ⟦{m12}⟧"),
}

# The same once more.
THIRD: dict[str, tuple[str, ...]] = {
    "heroku": ("heroku config:set API_TOKEN=⟦{m32}⟧ -a app", "HEROKU_API_KEY=⟦{x8}-{x4}-{x4}-{x4}-{x12}⟧"),
    "circle": ("⟦CCIPAT_{m22}_{x40}⟧",),
    "doppler": ("export DOPPLER_TOKEN=⟦dp.st.{m43}⟧", "doppler setup --token ⟦dp.pt.{m43}⟧"),
    "sonar": ("mvn sonar:sonar -Dsonar.token=⟦squ_{x40}⟧", "sonar.login=⟦{x40}⟧"),
    "gitlab runner": ("gitlab-runner register --registration-token ⟦{m20}⟧", "⟦glrt-{m20}⟧"),
    "ssh askpass": ("ada@host's password: ⟦{p}⟧", "(ada@host) Password for ada@host: ⟦{s}⟧"),
    "git credential": ("protocol=https\nhost=github.com\nusername=ada\npassword=⟦{p}⟧",),
    "svn and hg": ("svn co --username ada --password ⟦{s}⟧ https://svn.example.org", "acme.password = ⟦{p}⟧"),
    "ftp": ("ftp://ada:⟦{p}⟧@ftp.example.org/", "331 Password required for ada\nPASS ⟦{p}⟧"),
    "mail": ("AUTH PLAIN ⟦{b32}⟧", "smtp_password: '⟦{s}⟧'"),
    "snmp and ipmi": ("ipmitool -I lanplus -U admin -P ⟦{p}⟧ power status", "snmpwalk -v3 -A ⟦{p}⟧ -X ⟦{s}⟧ host"),
    "vpn": ("openconnect --passwd-on-stdin <<< ⟦{s}⟧", "vpn secret: ⟦{m20}⟧"),
    "keytool": ("keytool -list -storepass ⟦{p}⟧ -keystore a.jks", "-keypass ⟦{p}⟧"),
    "powershell": ('$env:API_TOKEN = "⟦{m32}⟧"', "ConvertTo-SecureString '⟦{s}⟧' -AsPlainText -Force"),
    "fish": ("set -gx GITHUB_TOKEN ⟦{m40}⟧",),
    "dockerfile": ("ENV DB_PASSWORD ⟦{s}⟧", "docker run -e POSTGRES_PASSWORD=⟦{p}⟧ postgres"),
    "compose": ("      MYSQL_ROOT_PASSWORD: ⟦{p}⟧", "      - REDIS_PASSWORD=⟦{s}⟧"),
    "properties": ("hibernate.connection.password ⟦{p}⟧", "jwt.secret=⟦{m40}⟧"),
    "http log": ('"GET /api?api_key=⟦{m32}⟧ HTTP/1.1" 200', '"GET /cb?code=⟦{m40}⟧&state=x HTTP/1.1" 302'),
    "debug log": ("DEBUG urllib3 headers={'X-Api-Key': '⟦{m32}⟧'}", "> set-cookie: __Secure-next-auth=⟦{m60}⟧; Secure"),
    "repr": ("Config(user='ada', password='⟦{s}⟧')", "Credentials(token='⟦{m32}⟧', expires=3600)"),
    "bank": ("IBAN ok, TAN: ⟦{d6}⟧", "Card PIN: ⟦{d4}⟧"),
    "message codes": ("WhatsApp code ⟦{d3}-{d3}⟧", "[Acme] ⟦{d6}⟧ is your security code", "Einmalcode: ⟦{d6}⟧"),
    "door codes": ("Your unlock PIN is ⟦{d4}⟧.", "Enter PIN: ⟦{d6}⟧"),
    "Spanish and Catalan": ("La contraseña es ⟦{p}⟧", "La contrasenya és ⟦{s}⟧"),
    "Norwegian and Danish": ("Passord: ⟦{p}⟧", "Adgangskode: ⟦{p}⟧"),
    "Chinese and Japanese": ("口令: ⟦{p}⟧", "暗証番号：⟦{d4}⟧", "密码为 ⟦{s}⟧"),
    "wallet": ("Your secret recovery phrase:\n⟦{w12}⟧", "BIP39 mnemonic: ⟦{w24}⟧"),
    "shell history": ("  501  mysql -h db -uroot -p⟦{s}⟧", '  502  curl -H "Authorization: token ⟦{x40}⟧" https://a.b'),
    "ansible vault": ("vault_db_password: ⟦{q}⟧", "ansible-vault --vault-password ⟦{p}⟧"),
}

# Written last, and learnt from in the end.
LAST: dict[str, tuple[str, ...]] = {
    "mattermost and rocket": ("https://mm.example.org/hooks/⟦{l26}⟧", "https://rocket.example.org/hooks/{m17}/⟦{m68}⟧"),
    "elastic": (
        "elasticsearch-reset-password -u elastic\nNew value: ⟦{m20}⟧",
        "curl -u elastic:⟦{m20}⟧ https://es:9200",
    ),
    "grafana": ("GF_SECURITY_ADMIN_PASSWORD=⟦{p}⟧", "admin:⟦{p}⟧@grafana.example.org:3000"),
    "minio": ("MINIO_ROOT_USER=ada MINIO_ROOT_PASSWORD=⟦{s}⟧", "mc alias set my https://s3.example.org ada ⟦{m40}⟧"),
    "argocd": ("argocd login cd.example.org --username admin --password ⟦{m16}⟧",),
    "keepass": ("keepassxc-cli show -s db.kdbx entry\nPassword: ⟦{s}⟧\nURL: https://a.example.org",),
    "pass": ("$ pass show mail/ada\n⟦{s}⟧", "$ pass generate web/x 20\nThe generated password for web/x is:\n⟦{m20}⟧"),
    "bitwarden": ('export BW_SESSION="⟦{b86}⟧=="',),
    "stdin answer": ("Enter new UNIX password: ⟦{p}⟧", "New SMB password:\n⟦{p}⟧"),
    "two factor": ("Two-factor authentication code: ⟦{d6}⟧", "Verification code (2FA): ⟦{d6}⟧", "TOTP> ⟦{d6}⟧"),
    "imap": ("a1 LOGIN ada ⟦{s}⟧", "imaps://ada:⟦{p}⟧@mail.example.org"),
    "French and Italian": ("Saisissez votre mot de passe : ⟦{p}⟧", "Inserisci la password: ⟦{s}⟧", "Code PIN : ⟦{d4}⟧"),
    "Korean and Turkish": ("새 비밀번호: ⟦{p}⟧", "Yeni parola: ⟦{p}⟧", "Doğrulama kodunuz: ⟦{d6}⟧"),
    "comment": ("# root password: ⟦{p}⟧", "// TODO remove: apiKey = '⟦{m32}⟧'", "-- pw: ⟦{s}⟧"),
    "table row": ("| ada | password | ⟦{s}⟧ |", "API token  ⟦{m40}⟧  never expires"),
    "CI": ("Error: secret value '⟦{m32}⟧' is exposed", "##vso[task.setvariable variable=pw;issecret=true]⟦{s}⟧"),
    "k8s secret": ("data:\n  password: ⟦{b20}⟧", "  tls.key: ⟦LS0t{b60}⟧"),
    "env dump": ("DATABASE_URL=mysql://ada:⟦{s}⟧@db/app", "SMTP_PASS=⟦{s}⟧", "STRIPE_WEBHOOK_SECRET=⟦whsec_{m32}⟧"),
}

# The kinds that somebody who attacked the redactor found missing.
ATTACKED: dict[str, tuple[str, ...]] = {
    "render and langsmith": ("⟦rnd_{m28}⟧", "⟦lsv2_pt_{x32}_{x10}⟧"),
    "bitbucket": ("git clone with ⟦ATBB{m28}{u8}⟧",),
    "razorpay": ("⟦rzp_live_{m14}⟧", "curl -u ⟦rzp_live_{m14}⟧:⟦{m24}⟧ https://api.razorpay.com/v1/orders"),
    "nostr": ("⟦nsec1{n58}⟧",),
    "twilio account": ("twilio login ⟦AC{x32}⟧ ⟦{x32}⟧", "https://⟦AC{x32}⟧:⟦{x32}⟧@api.twilio.com/2010-04-01"),
    "IRC": ("/msg NickServ IDENTIFY ⟦{p}⟧", "PRIVMSG NickServ :IDENTIFY ada ⟦{s}⟧"),
    "yarn": ('npmAuthIdent: "ada:⟦{m20}⟧"', "    npmAuthIdent: ⟦{b32}⟧"),
    "AWS secrets": ('    "SecretString": "⟦{s}⟧",', "aws secretsmanager create-secret --name db --secret-string ⟦{s}⟧"),
    "BitLocker": (
        "    Password:\n      ⟦{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}⟧",
        "key ⟦{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}⟧",
    ),
    "private calendar": (
        "https://calendar.google.com/calendar/ical/ada%40example.org/private-⟦{x32}⟧/basic.ics",
        "https://outlook.office365.com/owa/calendar/{x32}@example.org/⟦{x32}{d19}⟧/calendar.ics",
    ),
    "rclone": ("rclone obscure hunter\n⟦{m24}⟧", "[remote]\ntype = sftp\npass = ⟦{m26}-{m6}⟧"),
    "Croatian": ("Lozinka: ⟦{p}⟧", "Unesite lozinku: ⟦{s}⟧", "Zaporka: ⟦{p}⟧"),
    "Bulgarian": ("Парола: ⟦{p}⟧", "Въведете паролата: ⟦{s}⟧"),
    "Persian": ("رمز عبور: ⟦{p}⟧", "گذرواژه: ⟦{p}⟧"),
    "table of secrets": ('[secrets]\ndb = "⟦{s}⟧"\nmail = "⟦{p}⟧"', "[credentials]\nrouter = ⟦{s}⟧"),
    "asked again": ("Use ⟦{p}⟧ as the new password? [y/N]", "Set the password to ⟦{s}⟧? (y/n)"),
}

# Written before the rules became data, and counted once before anything was mended; then learnt from.
NEWEST: dict[str, tuple[str, ...]] = {
    "fly": ("FlyV1 ⟦fm2_{b180}⟧", "fly auth token\n⟦fo1_{m43}⟧"),
    "planetscale": ("⟦pscale_tkn_{m43}⟧", "⟦pscale_pw_{m43}⟧"),
    "neon": ("⟦napi_{l64}⟧", "⟦npg_{m12}⟧"),
    "model hosts": ("⟦r8_{m37}⟧", "⟦pplx-{m48}⟧", "⟦xai-{m80}⟧", "⟦fw_{m24}⟧"),
    "tools of agents": ("⟦tvly-dev-{m32}⟧", "⟦e2b_{x40}⟧", "⟦fc-{x32}⟧"),
    "modal": ("modal token set --token-id ⟦ak-{m22}⟧ --token-secret ⟦as-{m22}⟧",),
    "wandb": ("wandb login ⟦{x40}⟧",),
    "pinecone": ("⟦pcsk_{m6}_{m62}⟧",),
    "resend": ("⟦re_{m8}_{m24}⟧",),
    "airtable": ("⟦pat{m14}.{x64}⟧",),
    "asana": ("⟦2/{d16}/{d16}:{x32}⟧",),
    "atlassian": ("⟦ATATT3xFfGF0{m120}={x8}⟧",),
    "okta": ("SSWS ⟦00{m40}⟧",),
    "buildkite": ("⟦bkua_{x40}⟧",),
    "snyk": ("⟦snyk_uat.{x8}.{m60}⟧", "snyk auth ⟦{x8}-{x4}-{x4}-{x4}-{x12}⟧"),
    "codecov": ("codecov -t ⟦{x8}-{x4}-{x4}-{x4}-{x12}⟧",),
    "honeycomb and axiom": ("⟦hcaik_01{l56}⟧", "⟦xaat-{x8}-{x4}-{x4}-{x4}-{x12}⟧"),
    "prefect and infisical": ("⟦pnu_{m36}⟧", "⟦st.{x24}.{x32}.{x32}⟧"),
    "1password": ("⟦ops_eyJ{m200}⟧", "⟦A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}⟧"),
    "matrix": ("⟦syt_{m12}_{m20}_{m6}⟧",),
    "app password": ("Your app password: ⟦{l4} {l4} {l4} {l4}⟧", "bsky login ada.example.org ⟦{l4}-{l4}-{l4}-{l4}⟧"),
    "bitcoin": ("bitcoin-cli dumpprivkey bc1q{l30}\n⟦K{m51}⟧", "⟦xprv9{m107}⟧"),
    "ethereum": ("cast send --private-key ⟦0x{x64}⟧", "Private key: ⟦0x{x64}⟧"),
    "meeting": ("https://us02web.zoom.us/j/{d11}?pwd=⟦{m32}.1⟧",),
    "shared files": (
        "https://www.dropbox.com/scl/fi/{l20}/a.pdf?rlkey=⟦{l25}⟧&dl=0",
        "https://mega.nz/file/{m8}#⟦{m43}⟧",
        "https://send.bitwarden.com/#{m22}/⟦{m22}⟧",
    ),
    "wormhole": ("Wormhole code is: ⟦{d2}-guitarist-revenge⟧", "wormhole receive ⟦{d2}-crossover-clockwork⟧"),
    "media servers": ("<apikey>⟦{m32}⟧</apikey>", "GET /library?X-Plex-Token=⟦{m20}⟧", "/api/v3/queue?apikey=⟦{x32}⟧"),
    "push messages": ('curl -F "token=⟦a{l29}⟧" -F "user=ada" https://api.pushover.net/1', "⟦tk_{l29}⟧"),
    "ping addresses": ("https://hc-ping.com/⟦{x8}-{x4}-{x4}-{x4}-{x12}⟧", "https://up.example.org/api/push/⟦{m16}⟧"),
    "ifttt": ("https://maker.ifttt.com/trigger/open/with/key/⟦{m22}⟧",),
    "wifi code": ("WIFI:T:WPA;S:home;P:⟦{s}⟧;;",),
    "cisco": ("username ada password 7 ⟦{u14}⟧", "snmp-server community ⟦{p}⟧ RW", "enable secret 5 ⟦$1${m4}${m22}⟧"),
    "juniper": ('secret "⟦$9${m30}⟧"; ## SECRET-DATA', 'encrypted-password "⟦$6${m8}${m86}⟧";'),
    "name server": ('key "k" { algorithm hmac-sha256; secret "⟦{b43}=⟧"; };',),
    "odbc": ("Driver=ODBC;UID=sa;PWD=⟦{s}⟧;", "DSN=app;Uid=ada;Pwd={⟦{s}⟧};"),
    "oracle": ("sqlplus scott/⟦{p}⟧@orcl", "CONNECT ada/⟦{s}⟧@//db:1521/app"),
    "more sql": ("SET PASSWORD FOR 'ada'@'%' = '⟦{s}⟧';", "CREATE LOGIN ada WITH PASSWORD = N'⟦{s}⟧';"),
    "windows tests": ("evil-winrm -i 10.0.0.5 -u ada -p ⟦{s}⟧", "psexec.py acme/ada:⟦{s}⟧@10.0.0.5"),
    "ntlm hash": ("secretsdump: ada:1001:⟦aad3b435b51404eeaad3b435b51404ee:{x32}⟧:::", "nxc smb srv -u ada -H ⟦{x32}⟧"),
    "cracked": ("[22][ssh] host: 10.0.0.5   login: ada   password: ⟦{p}⟧", "{x32}:⟦{p}⟧"),
    "keyrings": ("$ secret-tool lookup service mail\n⟦{s}⟧", "security add-generic-password -a ada -s mail -w ⟦{s}⟧"),
    "vault table": ("====== Data ======\nKey         Value\n---         -----\npassword    ⟦{s}⟧",),
    "parameter store": ("aws ssm put-parameter --name /db --type SecureString --value ⟦{s}⟧",),
    "key vault": ("az keyvault secret set --vault-name v --name db --value ⟦{s}⟧",),
    "read from a vault": (
        "$ gcloud secrets versions access latest --secret=db\n⟦{s}⟧",
        "$ kubectl get secret db -o jsonpath={.data.password} | base64 -d\n⟦{s}⟧",
        "$ op read op://vault/mail/password\n⟦{s}⟧",
    ),
    "drawn": ("$ openssl rand -base64 24\n⟦{b32}⟧", "$ openssl rand -hex 32\n⟦{x64}⟧"),
    "rails": ("Adding config/master.key to store the encryption key: ⟦{x32}⟧",),
    "laravel and flask": ("APP_KEY=base64:⟦{b43}=⟧", "app.secret_key = b'⟦{m24}⟧'"),
    "smart card": ("Admin PIN: ⟦{d8}⟧", "New PUK: ⟦{d8}⟧", "Reset Code: ⟦{d8}⟧"),
    "disks": ("Enter any existing passphrase: ⟦{q}⟧", "Recovery key = '⟦{u4}-{u4}-{u4}-{u4}-{u4}-{u4}⟧'"),
    "Baltic": ("Parool: ⟦{p}⟧", "Slaptažodis: ⟦{p}⟧", "Parole: ⟦{s}⟧"),
    "Slovene": ("Geslo: ⟦{p}⟧", "Vnesite geslo: ⟦{s}⟧"),
    "Caucasian": ("პაროლი: ⟦{p}⟧", "Գաղտնաբառ: ⟦{p}⟧"),
    "Indian": ("পাসওয়ার্ড: ⟦{p}⟧", "கடவுச்சொல்: ⟦{p}⟧", "పాస్‌వర్డ్: ⟦{p}⟧"),
    "smaller languages": ("Lykilorð: ⟦{p}⟧", "Pasahitza: ⟦{p}⟧", "Contrasinal: ⟦{s}⟧", "Cyfrinair: ⟦{p}⟧"),
    "Serbian and Macedonian": ("Лозинка: ⟦{p}⟧", "Унесите лозинку: ⟦{s}⟧"),
    "Malay and Filipino": ("Kata laluan: ⟦{p}⟧", "Wagwoord: ⟦{p}⟧", "Nenosiri: ⟦{p}⟧"),
    "bank card": ("Card number: ⟦4{d15}⟧", "CVC: ⟦{d3}⟧", "pay with ⟦5412 {d4} {d4} {d4}⟧"),
    "product key": ("slmgr /ipk ⟦{u5}-{u5}-{u5}-{u5}-{u5}⟧", "Gift card code: ⟦{u5}-{u5}-{u5}⟧"),
    "screens far away": ("x11vnc -passwd ⟦{p}⟧", "lftp -u ada,⟦{s}⟧ sftp://files.example.org"),
    "streams": (
        "rtmp://live.twitch.tv/app/⟦live_{d9}_{m30}⟧",
        "rtmp://a.rtmp.youtube.com/live2/⟦{l4}-{l4}-{l4}-{l4}-{l4}⟧",
    ),
    "ipsec": ('10.0.0.1 : PSK "⟦{s}⟧"', 'ada * "⟦{s}⟧" *'),
    "expect": ('expect "assword:" { send "⟦{s}⟧\\r" }', "send -- ⟦{s}⟧\\r ; # password"),
    "pulumi and contentful": ("⟦pul-{x40}⟧", "⟦CFPAT-{m43}⟧"),
    "mapbox and twitch": ("⟦sk.eyJ1Ijoi{m60}.{m22}⟧", "PASS ⟦oauth:{l30}⟧"),
    "registries": ("cargo login ⟦cio{m32}⟧", "⟦CLOJARS_{x60}⟧", "⟦AKCp{m69}⟧"),
    "azure secret": ("⟦{m3}8Q~{m34}⟧",),
    "braintree": ("⟦access_token$production${l16}${x32}⟧",),
    "shodan": ("shodan init ⟦{m32}⟧",),
}

# Written when those rules were done, counted once, and not learnt from.
UNSEEN: dict[str, tuple[str, ...]] = {
    "together and runpod": ("⟦tgp_v1_{m43}⟧", "⟦rpa_{u40}⟧"),
    "voyage and elevenlabs": ("⟦pa-{m43}⟧", "⟦sk_{x48}⟧"),
    "langfuse and lambda": ("⟦sk-lf-{x8}-{x4}-{x4}-{x4}-{x12}⟧", "⟦secret_ci_{x32}.{m32}⟧"),
    "convex and stytch": ("⟦prod:happy-otter-123|{b60}⟧", "⟦secret-live-{m36}=⟧"),
    "mail services": ("⟦mlsn.{x64}⟧", "⟦xkeysib-{x64}-{m16}⟧"),
    "hubspot and clickup": ("⟦pat-na1-{x8}-{x4}-{x4}-{x4}-{x12}⟧", "⟦pk_{d8}_{u32}⟧"),
    "netbird and portainer": ("⟦nbp_{m36}⟧", "⟦ptr_{b43}=⟧"),
    "headscale": ("$ headscale preauthkeys create -u ada\n⟦{x48}⟧",),
    "consul and nomad": ("SecretID:  ⟦{x8}-{x4}-{x4}-{x4}-{x12}⟧", "Secret ID  = ⟦{x8}-{x4}-{x4}-{x4}-{x12}⟧"),
    "rabbitmq": ("rabbitmqctl add_user ada ⟦{p}⟧", "rabbitmqctl change_password ada ⟦{s}⟧"),
    "influx": ("influx config create -n a -u http://db -t ⟦{b86}==⟧",),
    "proxmox and truenas": ("PVEAPIToken=ada@pam!ci=⟦{x8}-{x4}-{x4}-{x4}-{x12}⟧", "truenas api key ⟦1-{m64}⟧"),
    "kerberos": ("⟦$krb5tgs$23$*ada$ACME$http/web*${x32}${x160}⟧",),
    "wireless found": ("KEY FOUND! [ ⟦{p}⟧ ]", "nmcli con modify home wifi-sec.psk ⟦{s}⟧"),
    "pairing": ("adb pair 10.0.0.2:37000 ⟦{d6}⟧", "[agent] Passkey: ⟦{d6}⟧"),
    "login code": ("Login code: ⟦{d5}⟧. Do not give this code to anyone", "Your login link code is ⟦{d6}⟧"),
    "tar and borg": ("borg key export repo\nBORG_KEY {x64}\n⟦{b70}⟧", "gpg --symmetric --passphrase=⟦{s}⟧ a"),
    "useradd and samba": ("useradd -p ⟦{p}⟧ ada", "smbpasswd -s ada <<< ⟦{s}⟧"),
    "mongo and couch": ("db.createUser({user: 'ada', pwd: '⟦{s}⟧'})", "COUCHDB_PASSWORD=⟦{p}⟧"),
    "terraform output": ('db_password = "⟦{s}⟧"', "admin_key = ⟦{m32}⟧"),
    "Hausa and Somali": ("Kalmar sirri: ⟦{p}⟧", "Furaha sirta ah: ⟦{p}⟧"),
    "Azerbaijani and Uzbek": ("Şifrə: ⟦{p}⟧", "Parolni kiriting: ⟦{p}⟧"),
    "questions": ("Is ⟦{p}⟧ your current password?", "Keep using ⟦{s}⟧ as passphrase?"),
    "chat": ("the wifi pw is ⟦{p}⟧ btw", "log in with ada / ⟦{s}⟧"),
}

_SIGNS = "!#$%&*+?@^~"
_WORDS = (
    "abandon ability absent absorb account acid across actor adapt advice airport album anchor angle apple arena arrow"
    " autumn bamboo banner basket beauty before bitter blanket border bridge bubble cactus canvas carbon castle cereal"
    " cherry circle clever coconut copper coral cotton cradle cricket crystal dash debate desert diamond dolphin dragon"
    " eagle earth elbow empower engine escape fabric falcon fiction flame forest fossil gadget garlic gentle giraffe"
    " glove grape hammer harbor hazard hockey humble hybrid icon jacket jaguar jungle kidney kiwi ladder lemon lizard"
    " lobster lunar magnet maple meadow mimic mirror muffin napkin nephew oak ocean olive orbit oyster panda pepper"
)
_PEOPLE = ("sunny", "Bonnie", "kraken", "Zephyr", "otter", "Maple", "quokka", "Winter", "hunter", "fluffy")
_DRAWN = {
    "m": string.ascii_letters + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "l": string.ascii_lowercase + string.digits,
    "x": "0123456789abcdef",
    "b": string.ascii_letters + string.digits + "+/",
    "n": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "d": string.digits,
}


@frozen
class Planted:
    """A text with secrets in it."""

    kind: str
    text: str
    secrets: tuple[str, ...]
    screen: str  # as it stands on a screen: as it is, wrapped, in a frame, or with colours inside


def planted(kinds: dict[str, tuple[str, ...]], number: int, seed: int = 7) -> list[Planted]:
    """So many texts: the kinds in turn, and the templates of each in turn."""
    draw = random.Random(seed)
    names = list(kinds)
    return [_filled(name := names[n % len(names)], kinds[name], n // len(names), draw) for n in range(number)]


def _filled(kind: str, templates: tuple[str, ...], turn: int, draw: random.Random) -> Planted:
    text = re.sub(r"\{(\w)(\d*)\}", lambda found: _drawn(found[1], found[2], draw), templates[turn % len(templates)])
    secrets = tuple(re.findall("⟦(.*?)⟧", text, re.DOTALL))
    text = text.replace("⟦", "").replace("⟧", "")
    return Planted(kind, text, secrets, _SHOWN[(turn // len(templates)) % len(_SHOWN)](text, secrets))


def _plain(text: str, secrets: tuple[str, ...]) -> str:
    return f"$ ls -l\ntotal 12\n{text}\n$ "


def _wrapped(text: str, secrets: tuple[str, ...], width: int = 44) -> str:
    rows = [row[at : at + width] for row in text.split("\n") for at in range(0, max(len(row), 1), width)]
    return "\n".join(["The quick brown fox jumps over the lazy dog", *rows, "and that was all of it"])


def _framed(text: str, secrets: tuple[str, ...]) -> str:
    rows = _wrapped(text, secrets, 44).split("\n")
    return "\n".join(["╭" + "─" * 46 + "╮", *(f"│ {row:44} │" for row in rows), "╰" + "─" * 46 + "╯"])


def _coloured(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        half = len(secret) // 2
        text = text.replace(secret, f"\x1b[1m{secret[:half]}\x1b[32m{secret[half:]}\x1b[0m")
    return f"{text}\n"


_SHOWN = (_plain, _wrapped, _framed, _coloured)


def _drawn(of: str, number: str, draw: random.Random) -> str:
    if of == "w":
        return " ".join(draw.sample(_WORDS.split(), int(number)))
    if of in "psq":
        name, digits = draw.choice(_PEOPLE), str(draw.randrange(10, 9999))
        return {"p": name + digits, "s": name + draw.choice(_SIGNS) + digits, "q": f"{name} {digits} lake"}[of]
    while True:  # of several characters, as services draw them: not of letters alone
        drawn = "".join(draw.choices(_DRAWN[of], k=int(number)))
        if int(number) < 8 or of in "dU" or (re.search("[A-Za-z]", drawn) and re.search("[0-9]", drawn)):
            return drawn
