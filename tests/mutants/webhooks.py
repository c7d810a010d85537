"""Webhooks: what is told, what is signed, and where requests may go."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_REQUESTS = "tests/runtime/test_webhook_requests.py"
_ADDRESSES, _REQUEST = "runtime/webhooks/addresses.py", "runtime/webhooks/request.py"

WEBHOOKS: tuple[Mutant, ...] = (
    mutant(
        "a question is told each time its job waits again",
        "announce_jobs",
        "AND q.started_at >= j.started_at",
        "",
        "webhooks::test_a_question_is_told_when_it_is_asked_and_not_again",
    ),
    mutant(
        "a late failure undoes a newer attempt",
        "record_deliveries",
        "AND (d.attempts = r.attempt OR r.error IS NULL)",
        "",
        "webhooks::test_a_delivery_is_taken_once_and_again_if_nobody_records_it",
    ),
    mutant(
        "a former secret signs forever",
        "take_deliveries",
        "CASE WHEN hook.former_until > now_ts THEN hook.former_secret END",
        "hook.former_secret",
        "webhooks::test_while_a_secret_is_rotated_both_sign",
    ),
    mutant(
        "a failing receiver gets everything at once",
        "take_deliveries",
        "CASE WHEN hook.failures > 0 THEN 1 ELSE tenure.batch_size(n) END",
        "tenure.batch_size(n)",
        "webhooks::test_a_receiver_that_fails_is_asked_one_at_a_time_and_then_gets_the_rest",
    ),
    python_mutant(
        "a delivery that takes long holds up all others",
        "runtime/keeper/services/webhooks.py",
        "self._busy[tenant, name].set()",
        "pass",
        "tests/system/test_webhooks.py::test_a_delivery_that_takes_long_holds_up_no_other",
    ),
    python_mutant(
        "a private address is reached",
        _REQUEST,
        "if not by_name and not all(",
        "if False and not all(",
        f"{_REQUESTS}::test_a_private_host_is_not_reached_however_it_is_spelled",
    ),
    python_mutant(
        "one public address is enough",
        _REQUEST,
        "and not all(is_public(each)",
        "and not any(is_public(each)",
        f"{_REQUESTS}::test_a_name_is_resolved_once_and_all_its_addresses_are_checked",
    ),
    python_mutant(
        "a mapped address is not read as IPv4",
        _ADDRESSES,
        "if address.ipv4_mapped is not None:",
        "if False:",
        f"{_REQUESTS}::test_public_addresses_count_as_public",
    ),
    python_mutant(
        "an address that NAT64 translates counts as public",
        _ADDRESSES,
        "if address in _TRANSLATED:",
        "if False:",
        f"{_REQUESTS}::test_public_addresses_count_as_public",
    ),
    python_mutant(
        "requests to public hosts are not encrypted",
        _REQUEST,
        "if not (place.is_encrypted or by_name or all(map(allowed.includes, addresses))):",
        "if False:",
        f"{_REQUESTS}::test_a_refusal_says_what_would_be_right",
    ),
)
