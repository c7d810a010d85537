"""What is typed wrongly ends with code 2; what does not exist with code 10 and the nearest name."""

from pathlib import Path

import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.cli.running import Cli, piped, process
from tests.factories import make_job, make_job_in

DIGITS = "9" * 5000
APP = "from tenure import Tenure\n\napp = Tenure()\n"


@pytest.fixture
def app(tmp_path: Path) -> str:
    (tmp_path / "usage_app.py").write_text(APP)
    return str(tmp_path / "usage_app.py")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nonsense", "no such command 'nonsense'"),
        ("job nonsense", "no such command 'nonsense'"),
        ("job list --nonsense", "no such option: --nonsense"),
        ("job list --limit x", "invalid value for '--limit'"),
        ("job list --limit 0", "--limit takes a number from 1 to 1000, not 0"),
        (f"job list --limit {DIGITS}", "invalid value for '--limit'"),
        (f"job list --below {DIGITS}", "invalid value for '--below'"),
        ("job list --since soon", "--since: 'soon' is not a duration"),
        ("job list --since 9999999999999d", "is not a length of time that can be counted"),
        ("job list --until 0001-01-01T00:00+23:59", "--until: '0001-01-01T00:00+23:59' is outside"),
        ("job list --where nonsense=1", "jobs cannot be filtered by 'nonsense'"),
        ("job list --where x", "'x' is not a filter"),
        ("job list --status nonsense", 'the status "nonsense"; they can be pending,'),
        (f"job list --where parent={DIGITS}", "is not the id of a job"),
        ("job list --queue a --queue b", "--queue is given 2 times"),
        ("job show", "missing argument"),
        ("job show 1 2", "unexpected extra argument"),
        ("job cancel", "name a job"),
        ("job cancel 1 --grace soon", "--grace: 'soon' is not a duration"),
        ("job cancel 1 --reason a --reason b", "--reason is given 2 times"),
        ("job cancellations --offset -1", "--offset takes 0 or more"),
        ("job enqueue work x", "'x' is not an argument"),
        ("job enqueue work x=1 x=2", "'x' is given twice"),
        ("job enqueue work x=1e400", "'1e400' is refused"),
        (f"job enqueue work x={DIGITS}", "it has 5,000 digits"),
        (f"job enqueue work x={'[' * 3000}{']' * 3000}", "is nested more than 64 levels deep"),
        (
            f'job enqueue work --args {{"x":{"[" * 3000}{"]" * 3000}}}',
            "is nested more than 64 levels deep",
        ),
        ("job enqueue work --args {", "--args: '{' is not JSON"),
        ("job enqueue work --at noon", "--at: 'noon' is not a point in time"),
        ("job enqueue work --at 2030-01-01T12:00Z --delay 1h", "exclude each other"),
        ("job enqueue work --key a --key b", "--key is given 2 times"),
        ("job enqueue work \udc80", "argument 4 holds bytes that are not UTF-8"),
        ("job enqueue work --key=\udc80", "argument 4 holds bytes that are not UTF-8"),
        ("stats --queue a", "--queue needs --last"),
        ("stats --last 99d", "15 minutes to 24 hours"),
        ("audit --job 1 --name x", "leave out --subject and --name"),
        ("migrate --all --sql", "--all excludes"),
        ("migrate --check --sql", "give one of them"),
        ("tenant create Acme", "cannot be the name of a tenant"),
        ("tenant drop default --yes", "the default tenant cannot be dropped"),
        ("token create ada --role king", "'king'"),
        ("token create ada --expires soon", "--expires: 'soon' is not a duration"),
        (f"token revoke {DIGITS}", "is not the id of a token"),
        ("policy set p", "missing option"),
        ("policy set p --when moon=full", "when has no 'moon'"),
        ("strategy set s speed=1", "speed"),
        ("target clear x", "pass --yes to confirm"),
        ("worker run", "missing argument"),
        ("worker run app --concurrency 0", "invalid value for '--concurrency'"),
        ("worker run app --metrics nonsense", "--metrics: it takes HOST:PORT"),
        ("worker run app --queues ,", "--queues takes names"),
        ("worker run app --tenants ,", "--tenants takes names"),
        ("worker run app --log-format x", "'x'"),
        ("serve --port 70000", "invalid value for '--port'"),
        ("serve --open king", "'king'"),
        ("serve --host no-such-host.invalid", "--host: 'no-such-host.invalid' is not a known host"),
        ("serve --host 0.0.0.0 --open viewer", "pass --yes"),
        ("up --port x", "invalid value for '--port'"),
        ("jobs", "no such command 'jobs'; did you mean 'job'? See tenure --help"),
        ("enqueue shop.crawl", "no such command 'enqueue'; did you mean 'job enqueue'? See tenure"),
    ],
)
def test_what_is_typed_wrongly_ends_with_2(cli: Cli, words: str, said: str) -> None:
    assert said in cli(*words.split()).sentence(2)
    assert said in cli(*words.split(), "--json").refusal(2)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"job show {DIGITS}", "there is no job 999"),
        ("job show 7", "there is no job 7"),
        ("job show nonsense", "'nonsense'"),
        (f"job cancel {DIGITS}", "there is no job 999"),
        (f"job enqueue work --after {DIGITS}", "there is no job 999"),
        (f"job enqueue work --parent {DIGITS}", "there is no job 999"),
        ("recover 7", "there is no job 7"),
        ("pool list tree", "there is no pool 'tree'; the nearest is 'trees'"),
        ("pool add-slot tree elm", "there is no pool 'tree'"),
        ("pool remove-slot tree elm", "there is no pool 'tree'"),
        ("pool release tree elm", "there is no slot 'elm' in pool 'tree'"),
        ("queue pause craw", "there is no queue 'craw'; the nearest is 'crawl'"),
        ("queue resume craw", "there is no queue 'craw'; the nearest is 'crawl'"),
        ("target list site:exampel", "there is no target 'site:exampel'; the nearest is"),
        ("target pause site:exampel", "there is no target 'site:exampel'; the nearest is"),
        ("target resume site:exampel", "there is no target 'site:exampel'; the nearest is"),
        ("target clear site:exampel --yes", "there is no target 'site:exampel'; the nearest is"),
        ("tenant pause defalt", "there is no tenant 'defalt'; the nearest is 'default'"),
        ("tenant resume defalt", "there is no tenant 'defalt'; the nearest is 'default'"),
        ("tenant drop defalt --yes", "there is no tenant 'defalt'"),
        ("job list --tenant defalt", "there is no tenant 'defalt'; the nearest is 'default'"),
        ("token create ada --of defalt", "there is no tenant 'defalt'"),
        ("token revoke 7", "there is no token 7"),
        ("policy drop p", "there is no policy 'p'"),
        ("strategy drop gracefull", "there is no strategy 'gracefull'"),
        ("job cancel 1 --strategy gracefull", "there is no strategy 'gracefull'"),
        ("policy set p --when age=1h --strategy gracefull", "there is no strategy 'gracefull'"),
        ("job rollback cancel-000007", "there is no cancellation cancel-000007"),
        ("job cancel-status 1", "job 1 was never stopped"),
        ("worker drain 12345678", "there is no live worker '12345678'"),
    ],
)
def test_what_does_not_exist_ends_with_10(cli: Cli, store: Store, words: str, said: str) -> None:
    make_job(store, queue="crawl", target="site:example")
    store.create_pool("trees", ["oak"])
    assert said in cli(*words.split()).sentence(10)
    assert said in cli(*words.split(), "--json").refusal(10)[1]


@pytest.mark.parametrize("subject", ["queue", "target"])
def test_a_queue_or_target_without_jobs_is_paused_with_the_option_new(
    cli: Cli, store: Store, subject: str
) -> None:
    assert cli(subject, "pause", "mail", "--new").out == f"{subject.capitalize()} mail is paused.\n"
    assert cli(subject, "resume", "mail").out == f"{subject.capitalize()} mail is resumed.\n"
    assert "there is no" in cli(subject, "resume", "mail").sentence(10)


def test_the_default_queue_is_there_before_its_first_job(cli: Cli) -> None:
    assert cli("queue", "pause", "default").out == "Queue default is paused.\n"


def test_an_environment_that_is_not_utf_8_is_named_without_its_text(database: str) -> None:
    assert process(database, "job", "list", TENURE_TOKEN="geheim\udc80").sentence(2) == (
        "TENURE_TOKEN holds bytes that are not UTF-8"
    )


READING = [
    *(["job", "list"], ["job", "show", "1"], ["job", "cancel", "1"], ["stats"], ["top", "--once"]),
    *(["queue", "list"], ["tenant", "list"], ["token", "list"], ["worker", "list"], ["audit"]),
    *(["migrate", "--check"], ["recover"], ["pool", "list"], ["policy", "list"]),
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_command_that_makes_nothing_makes_no_database(words: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "nothing" / ".tenure"
    done = Cli("", TENURE_FOLDER=str(folder))(*words)
    assert done.sentence(13).startswith(f"there is no database in {folder}; start one with")
    assert not folder.parent.exists()


def test_the_doctor_finds_that_there_is_no_database(tmp_path: Path) -> None:
    folder = tmp_path / "nothing"
    done = Cli("", TENURE_FOLDER=str(folder))("doctor")
    assert done.code == 13
    assert f"there is no database in {folder}" in done.out
    assert not folder.exists()


def test_a_job_that_is_enqueued_first_makes_the_database(tmp_path: Path) -> None:
    cli = Cli("", TENURE_FOLDER=str(tmp_path / "new"))
    assert cli("job", "enqueue", "work", "--unannounced").out == "Enqueued job 1.\n"
    assert [it["id"] for it in cli.json("job", "list")] == [1]


def test_no_line_is_filled_up_when_a_program_reads_it(cli: Cli, store: Store) -> None:
    make_job_in(store, State.RUNNING, task="work" * 50)
    parent = make_job(store, "parent")
    make_job(store, "child" * 50, parent=parent)
    for words in (["job", "show", parent], ["top", "--once"], ["job", "list"], ["queue", "list"]):
        done = cli(*words)
        assert done.code == 0
        assert max(map(len, done.lines)) < 400, words
        assert all(line == line.rstrip() for line in done.lines), words
    shown = "".join(line.strip() for line in cli("job", "show", parent).lines)
    assert "child" * 50 in shown, "wrapped, and whole"
    assert "workwork" in cli("top", "--once").out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:app", "there is no module 'no_such_module'"),
        ("no_such_file.py", "there is no file"),
        ("..:app", "names no module"),
        ("a-b:app", "names no module"),
        (":app", "names no module"),
        ("json:app", "'app' in json is not an app"),
        ("json", "json holds 0 apps"),
        ("x" * 5000, "there is no module"),
        (f"{'x' * 5000}.py", "there is no file"),
    ],
)
def test_an_app_that_is_not_there_is_told_without_a_traceback(
    database: str, cli: Cli, name: str, said: str
) -> None:
    for words in (["worker", name], ["serve", name], ["job", "enqueue", "work", "--app", name]):
        done = process(database, *words) if words[0] == "worker" else cli(*words)
        assert said in done.last_sentence(3), words


def test_another_name_of_a_module_with_an_app_is_told_its_name(
    database: str, tmp_path: Path
) -> None:
    file = tmp_path / "named_app.py"
    file.write_text("from tenure import Tenure\njobs = Tenure()\n")
    done = process(database, "worker", f"{file}:app")
    assert done.last_sentence(3).endswith(f"name the one that is there: {file}:jobs")


def test_code_that_fails_is_told_with_its_traceback(database: str, tmp_path: Path) -> None:
    (tmp_path / "failing_app.py").write_text("import no_such_thing\n")
    done = process(database, "worker", str(tmp_path / "failing_app.py"))
    assert done.code == 3
    assert 'failing_app.py", line 1' in done.err
    assert done.err.splitlines()[-1].endswith("No module named 'no_such_thing'")


def test_a_worker_for_a_tenant_that_does_not_exist_is_refused(database: str, app: str) -> None:
    done = process(database, "worker", app, "--tenants", "default,nope")
    assert "there is no tenant 'nope' whose jobs this worker may run" in done.last_sentence(10)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("gopher://ada:geheim@host/x", "the scheme gopher:// is unknown"),
        ("gs://ada:geheim@bucket", "gs:// needs a package that is not installed"),
    ],
)
@pytest.mark.parametrize("word", ["worker", "serve"])
def test_artifacts_that_nobody_can_keep_are_refused(
    database: str, app: str, word: str, url: str, said: str
) -> None:
    sentence = process(database, word, app, TENURE_ARTIFACTS=url).last_sentence(1)
    assert sentence.startswith("artifacts: ")
    assert said in sentence
    assert "geheim" not in sentence


def test_artifacts_in_memory_are_taken(database: str, app: str) -> None:
    with piped(database, "worker", app, TENURE_ARTIFACTS="memory://x") as running:
        running.shows(" runs ")
