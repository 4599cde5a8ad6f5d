"""Secrets in commands, outputs and edits are redacted, ordinary lines stay."""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.work.secrets import redact_command, redact_file_text, redact_output
from tests.support.growth import check_linear

ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"

MAX_GROWTH = 20
"""The mark of a value is this much longer than the shortest value."""


def _kinds(rng: random.Random) -> dict[str, str]:
    """Return a new secret of each kind."""

    def text(letters: str, count: int) -> str:
        return "".join(rng.choices(letters, k=count))

    word = text(string.ascii_lowercase, 11)
    return {
        "word": word,
        "digits": text(string.digits, 9),
        "password": f"{text(string.ascii_letters, 6)}{rng.choice('!#%+=?')}{text(string.digits, 3)}x",
        "two-case": text(string.ascii_letters, 16),
        "hex32": text(HEX, 32),
        "hex64": text(HEX, 64),
        "uuid": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "alphanumeric20": text(ALPHANUMERIC, 20),
        "alphanumeric40": text(ALPHANUMERIC, 40),
        "base64": base64.b64encode(rng.randbytes(24)).decode(),
        "urlsafe": base64.urlsafe_b64encode(rng.randbytes(30)).decode().replace("-", "a"),
        "openai": f"sk-proj-{text(ALPHANUMERIC, 40)}",
        "anthropic": f"sk-ant-api03-{text(ALPHANUMERIC, 40)}",
        "github": f"ghp_{text(ALPHANUMERIC, 36)}",
        "github-fine": f"github_pat_{text(ALPHANUMERIC, 22)}_{text(ALPHANUMERIC, 40)}",
        "gitlab": f"glpat-{text(ALPHANUMERIC, 20)}",
        "aws-id": f"AKIA{text(string.ascii_uppercase, 16)}",
        "aws-secret": text(ALPHANUMERIC, 38) + "+a",
        "slack": f"xoxb-{text(string.digits, 12)}-{text(ALPHANUMERIC, 24)}",
        "stripe": f"sk_live_{text(ALPHANUMERIC, 24)}",
        "npm": f"npm_{text(ALPHANUMERIC, 36)}",
        "pypi": f"pypi-AgE{text(ALPHANUMERIC, 40)}",
        "jwt": f"eyJ{text(ALPHANUMERIC, 20)}.{text(ALPHANUMERIC, 40)}.{text(ALPHANUMERIC, 43)}",
        "google": f"AIza{text(ALPHANUMERIC, 35)}",
        "huggingface": f"hf_{text(ALPHANUMERIC, 34)}",
        "vault": f"hvs.{text(ALPHANUMERIC, 24)}",
        "digitalocean": f"dop_v1_{text(HEX, 64)}",
    }


COMMANDS = """
DB_PASSWORD=§ npm test
API_TOKEN='§' ./deploy.sh --fast
export AWS_SECRET_ACCESS_KEY="§" && terraform plan
env SECRET_KEY=§ STRIPE_SECRET=§ python manage.py migrate
$env:NUGET_API_KEY = '§'; dotnet nuget push x.nupkg
set -x; PGPASSWORD=§ psql -h db -U shop -c 'select 1'
deploy --token § --region eu
deploy --password=§
gh secret set DEPLOY -b §
mysql -u root -p§ shop < dump.sql
mysqldump --host db -p'§' shop
sshpass -p § ssh eva@10.0.0.5 uptime
redis-cli -h cache -a § ping
docker login -u eva -p § registry.example.org
echo § | docker login --password-stdin -u eva registry.example.org
echo "§" | gh auth login --with-token
curl -u eva:§ https://api.example.org/v1
curl --user "eva:§" https://api.example.org/v1
curl -H "Authorization: Bearer §" https://api.example.org/v1
curl -H 'X-Api-Key: §' https://api.example.org/v1
curl -H "PRIVATE-TOKEN: §" https://git.example.org/api
curl 'https://api.example.org/v1?limit=5&access_token=§&page=2'
curl "https://api.example.org/v1?api_key=§"
docker run -d -e POSTGRES_PASSWORD=§ -p 5432:5432 postgres:16
kubectl create secret generic shop --from-literal=password=§
aws configure set aws_secret_access_key §
heroku config:set SESSION=§ -a shop
vault kv put secret/shop password=§
mvn deploy -Dpassword=§
openssl rsa -in a.pem -passin pass:§
npm config set //registry.example.org/:_authToken=§
psql "host=db user=shop password=§ dbname=shop"
bash -lc "cd /srv && MAIL_PASSWORD=§ make test"
ssh web 'GITHUB_TOKEN=§ ./release'
echo "SESSION=§" >> .env
printf 'NAME=§\\n' > .env.local
keytool -list -keystore a.jks -storepass §
ssh-keygen -t ed25519 -N § -f deploy
setx API_TOKEN §
[Environment]::SetEnvironmentVariable('API_TOKEN', '§')
curl -b 'session=§' https://api.example.org
curl -u :§ https://api.example.org
vault login §
cargo login §
dotnet user-secrets set Db:Password §
sqlplus scott/§@db
lftp -u eva,§ files.example.org
twine upload -u __token__ -p § dist/shop.whl
doctl auth init -t §
gpg --batch --passphrase § -d backup.gpg
rclone config create backup s3 secret_access_key=§
helm upgrade shop . --set auth.password=§
docker build --build-arg NPM_TOKEN=§ .
smbclient //files/shop -U eva%§
java -Djavax.net.ssl.trustStorePassword=§ -jar shop.jar
""".strip().splitlines()

URL_COMMANDS = """
git clone https://eva:§@git.example.org/shop.git
psql postgres://shop:§@db.example.org:5432/shop
mongosh mongodb+srv://shop:§@cluster.example.org/shop
redis-cli -u redis://:§@cache.example.org:6379
export DATABASE_URL=mysql://root:§@127.0.0.1/shop
""".strip().splitlines()

OUTPUTS = [
    ("env", "SHELL=/bin/bash\nCI_THING=§\nLANG=C\n"),
    ("printenv", "A=1\nWHATEVER=§\n"),
    ("printenv WHATEVER", "§\n"),
    ("set", "BASH=/bin/bash\nWHATEVER='§'\n"),
    ("export -p", 'declare -x WHATEVER="§"\n'),
    ("docker compose exec web env", "PATH=/bin\nWHATEVER=§\n"),
    ("ssh web env", "PATH=/bin\nWHATEVER=§\n"),
    ("cat .env", "# settings\nNAME=shop\nWHATEVER=§\n"),
    ("head -5 config/.env.production", 'NAME="§"\n'),
    ("grep NAME .env", ".env:NAME=§\n"),
    (
        "docker inspect web",
        '        "Env": [\n            "WHATEVER=§",\n            "PATH=/bin"\n        ],\n',
    ),
    ("kubectl get secret shop -o yaml", "apiVersion: v1\ndata:\n  whatever: §\nkind: Secret\n"),
    ("kubectl get secret shop -o json", '{\n  "data": {\n    "whatever": "§"\n  }\n}\n'),
    ("gh auth token", "§\n"),
    ("gcloud auth print-access-token", "§\n"),
    ("cat ~/.netrc", "machine git.example.org login eva password §\n"),
    ("cat ~/.netrc", "machine git.example.org\n  login eva\n  password §\n"),
    ("cat ~/.npmrc", "//registry.example.org/:_authToken=§\n"),
    ("cat ~/.pypirc", "[pypi]\nusername = __token__\npassword = §\n"),
    ("cat ~/.aws/credentials", "[default]\naws_access_key_id = §\naws_secret_access_key = §\n"),
    ("cat credentials.json", '{\n  "client": "x",\n  "whatever": "§"\n}\n'),
    ("cat terraform.tfstate", '{\n  "outputs": {\n    "whatever": {\n      "value": "§"\n    }\n  }\n}\n'),
    ("terraform output", 'host = "db"\nwhatever = "§"\n'),
    ("vault kv get secret/shop", "===== Data =====\nKey      Value\n---      -----\nwhatever    §\n"),
    ("git diff", "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-NAME=§\n+NAME=x§\n"),
    ("bash -x deploy.sh", "+ export FOO_TOKEN=§\n+ FOO_TOKEN=§\n+ ./deploy\n"),
    ("bash -x deploy.sh", "+ curl -H 'Authorization: Bearer §' https://api.example.org\n"),
    ("git diff", "diff --git a/run.sh b/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n+export SHOP_PASSWORD=§\n"),
    ("curl -v https://api.example.org", "> GET /v1 HTTP/1.1\n> Authorization: Basic §\n> Accept: */*\n"),
    ("head -2 .env ~/.npmrc", "==> .env <==\nNAME=§\n"),
    ("echo $DEPLOY_TOKEN", "§\n"),
    ("ansible-vault view vars.yml", "shop:\n  whatever: §\n"),
    ("sops -d values.enc.yaml", "whatever: §\n"),
    ("cat wp-config.php", "define('DB_PASSWORD', '§');\n"),
    ("tail -n 3 prod.env", "WHATEVER=§\n"),
    ("rg NAME", "src/.env:3:SHOP_PASSWORD=§\n"),
    ('python -c "import os; print(os.environ)"', "environ({'WHATEVER': '§', 'HOME': '/home/eva'})\n"),
]

FILES = [
    (".env", "NAME=§\n"),
    ("/srv/shop/.env.local", 'export NAME="§"\n'),
    ("/home/eva/.netrc", "machine x login eva password §\n"),
    ("/home/eva/.npmrc", "//registry.example.org/:_authToken=§\n"),
    ("/home/eva/.docker/config.json", '{\n "auths": {\n  "x": {\n   "auth": "§"\n  }\n }\n}\n'),
    ("/home/eva/.vault-token", "§\n"),
    ("secrets.yaml", "shop:\n  whatever: §\n"),
    ("infra/prod.tfvars", 'whatever = "§"\n'),
    ("/home/eva/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n§\n-----END OPENSSH PRIVATE KEY-----\n"),
]


def _harmless(rng: random.Random) -> list[str]:
    """Return lines without secrets."""

    def digest(count: int) -> str:
        return "".join(rng.choices(HEX, k=count))

    lines = """
PASSWORD_MIN_LENGTH = 12
PASSWORD_MIN_LENGTH=12
token = next_token()
token = lexer.next_token(text)
MAX_TOKENS=4096
password = forms.CharField(widget=forms.PasswordInput)
password=password, user=user
if token.kind == "name":
SECRET_NAME = os.environ["SECRET_NAME"]
TOKEN_URL=https://auth.example.org/oauth/token
PASSWORD_FILE=/run/secrets/db
API_TOKEN=$API_TOKEN ./deploy.sh
API_TOKEN="${API_TOKEN}" make
--password-file secrets.txt
Enter password:
password: required
const key = Object.keys(cart)[0];
cache_key = f"{user}:{page}"
primary key (id)
PASS=12 FAIL=3
tests/test_auth.py::test_token PASSED
src/auth/token.py:12:5: error: undefined name
export PATH=/usr/local/bin:$PATH
KEY_WIDTH=200
mysql --protocol=tcp -h db
docker run -u 1000:1000 -p 8080:80 nginx
curl -s -o out.json https://example.org/a?page=2&limit=5
authorize the user, then redirect
npm ci --no-audit
git log --author=eva -p
version = "1.2.3"
Successfully installed flask-3.0.3
the token has expired
Author: Eva <eva@example.org>
git@github.com:eva/shop.git
https://example.org/shop?sort=price
secret santa is on friday
cookie banner is hidden
[[package]]
name = "secrets"
""".strip().splitlines()
    made = [
        f"commit {digest(40)}",
        f"index {digest(8)}..{digest(8)} 100644",
        f"sha256:{digest(64)}",
        f"{uuid.UUID(int=rng.getrandbits(128))} ok",
        f"Downloading shop-{rng.randrange(9)}.{rng.randrange(30)}.{rng.randrange(9)}-py3-none-any.whl",
        f"dist/app.{digest(8)}.js  {rng.randrange(900)}.{rng.randrange(99)} kB",
        f'  "integrity": "sha512-{base64.b64encode(rng.randbytes(64)).decode()}",',
        f"    --hash=sha256:{digest(64)}",
        f"0x{digest(12)} in main",
        f"2026-01-0{rng.randrange(1, 9)}T10:00:00Z INFO request {digest(16)} took {rng.randrange(900)} ms",
    ]
    return [*lines, *made]


def _planted() -> list[tuple[str, str, str]]:
    """Return 1,000 secrets: the shape, the secret and the redacted text."""
    rng = random.Random(47)
    shapes: list[tuple[str, str]] = [
        *(("command", line) for line in COMMANDS + URL_COMMANDS),
        *((line, text) for line, text in OUTPUTS),
        *((f"file {path}", text) for path, text in FILES),
    ]
    planted: list[tuple[str, str, str]] = []
    for number in range(1_000):
        where, shape = shapes[number % len(shapes)]
        kinds = list(_kinds(rng).values())
        secret = kinds[(number + number // len(shapes)) % len(kinds)]
        if shape in URL_COMMANDS:
            secret = secret.replace("/", "b").replace("#", "c").replace("?", "d").replace("%", "e")
        text = shape.replace("§", secret)
        if where == "command":
            redacted = redact_command(text)[0]
        elif where.startswith("file "):
            redacted = redact_file_text(where[5:], text)[0]
        else:
            redacted = redact_output(where, text)[0]
        planted.append((f"{where}: {shape}", secret, redacted))
    return planted


def test_no_planted_secret_is_left() -> None:
    planted = _planted()
    left = [(shape, secret) for shape, secret, redacted in planted if secret in redacted]

    assert len({shape for shape, _, _ in planted}) >= 40
    assert len(_kinds(random.Random(1))) >= 25
    assert left == []


def test_harmless_lines_stay() -> None:
    rng = random.Random(7)
    printed = (Path(__file__).parent / "data" / "outputs.txt").read_text("utf-8").split("\n")
    lines = list(
        {line: None for _ in range(10) for line in _harmless(rng)} | dict.fromkeys(filter(str.strip, printed))
    )
    lines = lines[:500]
    changed = {line for line in lines if redact_command(line)[1] or redact_output("npm test", line)[1]}

    assert len(lines) == 500
    assert len(changed) <= 5, changed


@pytest.mark.parametrize(
    ("command", "output", "redacted"),
    [
        ("env", "A=1\nHOME=/home/eva", "A=[redacted:value]\nHOME=[redacted:value]"),
        ("env FOO=1 npm test", "NAME=1", "NAME=1"),
        ("set -e; npm test", "NAME=1", "NAME=1"),
        ("source .env && npm test", "NAME=1", "NAME=1"),
        ("cat .env.example", "NAME=1", "NAME=1"),
        ("cat .env", "cat: .env: No such file or directory", "cat: .env: No such file or directory"),
    ],
)
def test_values_go_and_names_stay_where_a_command_prints_them(
    command: str, output: str, redacted: str
) -> None:
    assert redact_output(command, output)[0] == redacted


def test_private_keys_in_outputs_are_redacted() -> None:
    key = "\n".join(base64.b64encode(random.Random(line).randbytes(48)).decode() for line in range(8))
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{key}\n-----END RSA PRIVATE KEY-----\n"

    for command in ("cat id_rsa", "cat server.key", "ls", "openssl genrsa 2048"):
        redacted = redact_output(command, text)[0]
        assert not any(line in redacted for line in key.split("\n"))


def test_service_account_in_json_is_redacted() -> None:
    text = json.dumps(
        {"type": "service_account", "private_key_id": "a" * 40, "private_key": "x1" * 30}, indent=2
    )

    assert "x1x1" not in redact_output("cat credentials.json", text)[0]
    assert "x1x1" not in redact_file_text("conf/service-account.json", text)[0]


@given(st.text(max_size=300), st.text(max_size=300))
def test_redaction_is_idempotent_and_bounded(line: str, text: str) -> None:
    for redacted, source in (
        (redact_command(line)[0], line),
        (redact_output(line, text)[0], text),
        (redact_output("env", text)[0], text),
        (redact_file_text("id_rsa", text)[0], text),
    ):
        assert len(redacted) <= MAX_GROWTH * (len(source) + 1)
    assert redact_command(redact_command(line)[0]) == (redact_command(line)[0], 0)
    assert redact_output("env", redact_output("env", text)[0])[1] == 0
    assert redact_output("gh auth token", redact_output("gh auth token", text)[0])[1] == 0


@pytest.mark.parametrize(
    "text", ["A_TOKEN=x1y2 ", "curl -u a:", "://", "password ", "+++ b/.env\nA=1\n", '"a": "', "- "]
)
def test_redaction_is_linear(text: str) -> None:
    check_linear(lambda count: text * count, lambda output: redact_output("env", output), 500)
    check_linear(lambda count: text * count, lambda output: redact_output("npm test", output), 500)
