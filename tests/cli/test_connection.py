"""Whose jobs, and in whose name: databases, tenants, tokens, roles."""

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from tenure.cli.connection import Connection
from tenure.cli.local_token import local_token
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.errors import NotRecognized
from tenure.store.connection import describe_url
from tenure.store.store import Store
from tenure.web import create_app
from tests.cli.running import Cli, process
from tests.factories import make_job
from tests.web.http_client import asking


@pytest.fixture
def tokens(database: str) -> Mapping[str, str]:
    """A token for each role, by its name."""
    with Client(database) as client:
        return {role.value: make_token(client, f"{role}-ada", role)[0] for role in Role}


def test_without_a_token_it_is_the_database_user(cli: Cli, store: Store) -> None:
    cli("job", "enqueue", "work")
    assert store.show(1).owner == "db:postgres"


def test_a_token_says_who_asks(cli: Cli, store: Store, tokens: Mapping[str, str]) -> None:
    for words in (["--token", tokens["operator"]], []):
        env = {} if words else {"TENURE_TOKEN": tokens["operator"]}
        assert cli("job", "enqueue", "work", *words, **env).code == 0
    assert {store.show(job).owner for job in (1, 2)} == {"operator-ada"}
    cli("job", "pause", "1", "--token", tokens["operator"])
    row = store.audit_log("job", "1")[0]
    assert (row.actor, row.via, row.verb) == ("operator-ada", "cli", "pause")


@pytest.mark.parametrize("secret", ["tenure_" + "x" * 43, "nonsense", "tenure_ü"])
def test_a_token_that_nobody_knows_is_refused(cli: Cli, secret: str) -> None:
    done = cli("job", "list", "--token", secret)
    assert done.sentence(12) == "the token is not valid; ask an admin for a new one"
    assert cli("job", "list", "--token", secret, "--json").refusal(12)[0] == "NotRecognized"


@pytest.mark.parametrize("option", ["--token", "--url", "--tenant"])
def test_an_option_that_is_given_and_empty_does_not_count_as_left_out(
    cli: Cli, option: str
) -> None:
    """An unset variable of a script must not act with the rights of the database user."""
    sentence = f"{option} is empty; give it a value, or leave it out"
    assert cli("token", "create", "ada", option, "").sentence(2) == sentence
    if option != "--token":
        assert cli("migrate", option, "").sentence(2) == sentence


def test_an_expired_and_a_revoked_token_are_refused_in_the_same_words(
    cli: Cli, database: str, sql: psycopg.Connection
) -> None:
    with Client(database) as client:
        short, _ = make_token(client, "ada", Role.VIEWER, lifetime=timedelta(hours=1))
        long, kept = make_token(client, "ada", Role.VIEWER)
    assert cli("job", "list", "--token", short).code == 0
    sql.execute(
        "UPDATE tenure.bearer SET created_at = created_at - interval '2h',"
        " expires_at = expires_at - interval '2h' WHERE expires_at IS NOT NULL"
    )
    assert cli("token", "revoke", kept.id).out == f"Token {kept.id} of ada is revoked.\n"
    told = {cli("job", "list", "--token", secret).sentence(12) for secret in (short, long)}
    assert len(told) == 1


def test_a_viewer_only_looks_and_its_refusal_is_on_record(
    cli: Cli, store: Store, tokens: Mapping[str, str]
) -> None:
    job = make_job(store, owner="viewer-ada")
    viewer = Cli(cli._env["TENURE_DATABASE_URL"], TENURE_TOKEN=tokens["viewer"])
    for words in (["list"], ["show", job], ["explain", job], ["log", job]):
        assert viewer("job", *words).code == 0
    for words in (["enqueue", "work"], ["cancel", job], ["pause", job], ["rerun", job]):
        assert "viewer-ada is a viewer and may not" in viewer("job", *words).sentence(12)
    assert viewer("job", "cancel", job, "--json").refusal(12)[0] == "NotAllowed"
    assert store.show(job).status == "queued"
    assert {row.verb for row in store.audit_log(n=5)} == {"refuse"}


def test_an_operator_controls_what_is_its_own(
    cli: Cli, store: Store, tokens: Mapping[str, str]
) -> None:
    mine, other = make_job(store, owner="operator-ada"), make_job(store, owner="bob")
    operator = Cli(cli._env["TENURE_DATABASE_URL"], TENURE_TOKEN=tokens["operator"])
    assert operator("job", "cancel", mine).code == 0
    assert operator("job", "cancel", other).sentence(12) == (
        f"job {other} belongs to bob; only bob or an admin may cancel it"
    )
    for words in (
        ["queue", "pause", "default"],
        ["pool", "create", "trees"],
        ["recover"],
        ["token", "create", "eve", "--role", "admin"],
        ["token", "list"],
        ["strategy", "set", "s", "force=true"],
        ["target", "clear", "t", "--yes"],
    ):
        assert operator(*words).code == 12, words


def test_an_admin_controls_all_of_its_tenant(
    cli: Cli, store: Store, tokens: Mapping[str, str]
) -> None:
    other = make_job(store, owner="bob")
    admin = Cli(cli._env["TENURE_DATABASE_URL"], TENURE_TOKEN=tokens["admin"])
    assert admin("job", "cancel", other).code == 0
    assert admin("queue", "pause", "crawl", "--new").code == 0
    assert admin("tenant", "list").code == 0


@pytest.mark.fresh_database
def test_a_token_is_of_one_tenant_and_sees_no_other(cli: Cli, database: str) -> None:
    cli("tenant", "create", "acme")
    made = cli.json("token", "create", "ada", "--role", "admin", "--tenant", "acme")
    assert made["token"]["tenant"] == "acme"
    acme = Cli(database, TENURE_TOKEN=made["secret"])
    cli("job", "enqueue", "ours")
    acme("job", "enqueue", "theirs")
    assert [it["task"] for it in acme.json("job", "list")] == ["theirs"]
    assert [it["task"] for it in cli.json("job", "list")] == ["ours"]
    assert acme("job", "list", "--tenant", "acme").code == 0
    refused = acme("job", "list", "--tenant", "default").sentence(12)
    assert refused == "this token is valid only for the tenant acme"
    assert acme("tenant", "pause", "default").code == 12
    assert acme("tenant", "pause", "acme").out == "Tenant acme is paused.\n"
    for words in (["list"], ["create", "third"], ["drop", "acme", "--yes"]):
        assert "an admin of the default tenant may" in acme("tenant", *words).sentence(12)
    [row] = cli.json("audit", "--tenant", "acme", "--limit", "1")
    assert (row["verb"], row["actor"]) == ("refuse", "ada")


@pytest.mark.fresh_database
def test_an_admin_of_the_default_tenant_makes_tokens_of_others_and_pauses_them(
    cli: Cli, database: str
) -> None:
    cli("tenant", "create", "acme")
    root = cli.json("token", "create", "root", "--role", "admin")["secret"]
    made = cli.json("token", "create", "ada", "--role", "admin", "--of", "acme", "--token", root)
    assert made["token"]["tenant"] == "acme"
    assert made["token"]["created_by"] == "root"
    assert cli("tenant", "pause", "acme", "--token", root).out == "Tenant acme is paused.\n"
    acme = Cli(database, TENURE_TOKEN=made["secret"])
    assert acme("token", "create", "vic").code == 0
    refused = acme("token", "create", "vic", "--of", "default").sentence(12)
    assert refused == (
        "ada may not create a token of tenant default; an admin of the default tenant may"
    )
    assert "there is no tenant 'x'" in cli("token", "create", "vic", "--of", "x").sentence(10)


def test_a_secret_is_shown_once(cli: Cli) -> None:
    made = cli("token", "create", "ada", "--role", "operator", "--expires", "30d")
    assert made.lines[0] == "Token 1 for ada, operator of default, valid for 30d."
    secret = made.lines[-1].strip()
    assert secret.startswith("tenure_")
    assert cli("job", "list", "--token", secret).code == 0
    listed = cli("token", "list")
    assert listed.rows[0][:5] == ["1", "ada", "operator", "default", "db:postgres"]
    assert secret not in listed.out + cli("token", "list", "--json").out + cli("audit").out
    assert cli("token", "revoke", "1", "--json").document["revoked_by"] == "db:postgres"
    assert "revoked" in cli("token", "list").out


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["create", "ada", "--expires", "soon"], "--expires: 'soon' is not a duration", 2),
        (["create", "ada", "--role", "king"], "'king'", 2),
        (["create", ""], "name", 2),
        (["revoke", "77"], "there is no token 77", 10),
        (["revoke", "x"], "'x' is not the id of a token", 2),
    ],
)
def test_what_no_token_can_be_is_told_in_a_sentence(
    cli: Cli, words: list[str], said: str, code: int
) -> None:
    assert said in cli("token", *words).sentence(code)
    assert said in cli("token", *words, "--json").refusal(code)[1]


def test_no_tokens_are_a_sentence(cli: Cli) -> None:
    assert cli("token", "list").out == "no tokens\n"


def test_the_folder_token_is_used_for_the_embedded_database_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.delenv("TENURE_DATABASE_URL", raising=False)
    monkeypatch.setenv("TENURE_FOLDER", str(tmp_path))
    (tmp_path / "token").write_text("tenure_of_the_folder\n")
    assert Connection()._folder_token() == "tenure_of_the_folder"
    assert Connection().has_token
    assert not Connection(database).has_token
    (tmp_path / "token").unlink()
    assert not Connection().has_token
    (tmp_path / "token").mkdir()
    with pytest.raises(NotRecognized, match="cannot be read"):
        Connection()._folder_token()


@pytest.mark.parametrize("url", ["nonsense", "postgresql:///tenure?host=/nowhere"])
def test_a_database_that_cannot_be_reached_is_told_in_a_sentence(url: str) -> None:
    nowhere = Cli(url, TENURE_CONNECT_TIMEOUT="300ms")
    assert "the database cannot be reached" in nowhere("job", "list").sentence(13)
    assert nowhere("job", "list", "--json").refusal(13)[0] == "StoreUnavailable"


def test_a_database_without_the_schema_says_what_to_run(empty_database: str) -> None:
    assert "run: tenure migrate" in Cli(empty_database)("job", "list").sentence(13)


def test_options_may_stand_in_any_order_and_win_over_the_environment(database: str) -> None:
    elsewhere = Cli("postgresql:///tenure?host=/nowhere")
    assert elsewhere("job", "list", "--json", "--url", database).document == []
    assert process("postgresql:///nothing?host=/nowhere", "stats", "--url", database).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--url", "{url}", "--json", "job", "list", "--tenant", "default"],
        ["--url={url}", "job", "--tenant=default", "list", "--json"],
        ["--json", "job", "--url", "{url}", "list", "--tenant", "default"],
    ],
)
def test_common_options_may_stand_before_the_command(database: str, words: list[str]) -> None:
    nowhere = Cli("postgresql:///nothing?host=/nowhere")
    assert nowhere(*(word.format(url=database) for word in words)).document == []


def test_an_option_that_a_command_does_not_take_is_refused_before_it_too(cli: Cli) -> None:
    assert "no such option: --tenant" in cli("--tenant", "a", "up").sentence(2)
    assert "--url is given 2 times" in cli("--url", "a", "job", "list", "--url", "b").sentence(2)
    assert "no such command 'jobs'" in cli("--json", "jobs").refusal(2)[1]
    assert cli("--json").code == 2


def test_a_list_says_which_database_it_is_of_and_never_the_password(
    cli: Cli, database: str, tmp_path: Path
) -> None:
    done = cli("job", "list")
    assert done.code == 0
    assert re.fullmatch(r"Database: \S+ on \S+(, port \d+)? as \S+, tenant default\n", done.err)
    assert cli("job", "list", "--json").err == ""
    secret = "postgresql://ada:open-sesame@db.example.org:6432/jobs?sslmode=require"
    assert describe_url(secret) == "jobs on db.example.org:6432 as ada"
    nowhere = cli("job", "list", TENURE_DATABASE_URL="", TENURE_FOLDER=str(tmp_path / "none"))
    assert "there is no database in" in nowhere.sentence(13)
    assert not (tmp_path / "none").exists()


def test_a_setting_that_does_not_exist_is_told_in_a_sentence(cli: Cli) -> None:
    assert "there is no such setting" in cli("job", "list", TENURE_LEASES="1s").sentence(1)


def test_a_token_from_a_command_lasts_as_long_as_any_other(cli: Cli) -> None:
    made = cli("token", "create", "ada")
    assert "Token 1 for ada, viewer of default, valid for 90d." in made.out
    assert (
        cli("token", "create", "bob", "--expires", "never")
        .out.splitlines()[0]
        .endswith("for bob, viewer of default, which does not expire.")
    )
    ada, bob = cli.json("token", "list")
    assert ada["expires_at"] is not None
    assert bob["expires_at"] is None


def test_tokens_have_the_same_defaults_at_every_entry(
    cli: Cli, database: str, tmp_path: Path, sql: psycopg.Connection
) -> None:
    cli("token", "create", "by command")
    with Client(database) as client, asking(create_app(client)) as http:
        make_token(client, "by python")
        local_token(client, tmp_path)
        secret, _ = make_token(client, "root", Role.ADMIN)
        admin = http.as_({"authorization": f"Bearer {secret}"})
        assert admin.post("/api/tokens", {"name": "by rest"}).status_code == 201
        sql.execute("SELECT tenure.create_token('by sql', digest => sha256('x'))")
        made = {token.name: token for token in client.store.tokens()}
    assert len(made) == 6
    for name, token in made.items():
        assert token.expires_at is not None
        assert token.expires_at - token.created_at == timedelta(days=90), name
        assert token.role is (Role.ADMIN if name in ("local", "root") else Role.VIEWER), name
