"""Jobs and transactions: a job is there exactly when what it is about is there."""

from contextlib import suppress

from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase

from shop.framework import Missing
from shop.models import Order
from shop.tasks import note, refuse, ship
from tenure import Tenure
from tenure.contrib.django import app
from tenure.errors import InputRefused, JobNotFound


class Rollback(Exception):
    pass


def seen_by_others() -> list[str]:
    """Return the tasks of all jobs, over a connection that is not that of Django."""
    with Tenure(app.url) as other:
        return sorted(str(job.task).rpartition(".")[2] for job in other.store.list_jobs())


class Transactions(TransactionTestCase):
    def setUp(self) -> None:
        self.before = seen_by_others()

    def new_jobs(self) -> list[str]:
        found = seen_by_others()
        for task in self.before:
            found.remove(task)
        return found

    def test_a_job_is_seen_by_workers_after_the_commit(self) -> None:
        with transaction.atomic():
            result = ship.enqueue(1)
            handle = note.enqueue("a")
            self.assertEqual(self.new_jobs(), [])
            result.refresh()
            self.assertEqual(str(handle.status()), "queued")
        self.assertEqual(self.new_jobs(), ["note", "ship"])

    def test_a_rollback_takes_the_job_back(self) -> None:
        with suppress(Rollback), transaction.atomic():
            result = ship.enqueue(1)
            handle = note.enqueue("a")
            raise Rollback
        self.assertEqual(self.new_jobs(), [])
        with self.assertRaises(Missing):
            result.refresh()
        with self.assertRaises(JobNotFound):
            handle.job()

    def test_a_savepoint_takes_back_its_own_jobs_only(self) -> None:
        with transaction.atomic():
            note.enqueue("outer")
            with suppress(Rollback), transaction.atomic():
                ship.enqueue(1)
                raise Rollback
        self.assertEqual(self.new_jobs(), ["note"])

    def test_at_once_means_whatever_becomes_of_the_transaction(self) -> None:
        with suppress(Rollback), transaction.atomic():
            refuse.enqueue("tea")
            with app.outside_transaction():
                note.enqueue("a")
            self.assertEqual(self.new_jobs(), ["note", "refuse"])
            note.enqueue("b")
            raise Rollback
        self.assertEqual(self.new_jobs(), ["note", "refuse"])

    def test_a_view_that_fails_enqueues_nothing(self) -> None:
        self.client.raise_request_exception = False
        answer = self.client.get("/order/", {"name": "tea", "broken": 1})
        self.assertEqual((answer.status_code, self.new_jobs()), (500, []))

    def test_calls_use_the_connection_of_django_alone(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            [began] = cursor.fetchone()
        note.enqueue("a").cancel("no more")
        ship.enqueue(1).refresh()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND backend_start > %s",
                [began],
            )
            self.assertEqual(cursor.fetchone(), (0,))


class InOneTransaction(TestCase):
    def test_a_refusal_leaves_the_transaction_alone(self) -> None:
        Order.objects.create(name="tea")
        with self.assertRaises(JobNotFound):
            app.handle(999_999).job()
        with self.assertRaises(Missing):
            ship.get_result("999999")
        self.assertEqual(Order.objects.count(), 1)

    def test_waiting_for_a_job_of_the_transaction_is_refused(self) -> None:
        handle = note.enqueue("a")
        with self.assertRaisesMessage(InputRefused, "inside a transaction"):
            handle.result(timeout="60s")

    async def test_coroutines_use_the_transaction_of_the_test(self) -> None:
        answer = await self.async_client.get("/aorder/", {"name": "tea"})
        found = answer.json()
        self.assertEqual((await app.handle(found["job"]).ajob()).args, {"order": found["order"]})
        with Tenure(app.url) as other, self.assertRaises(JobNotFound):
            other.handle(found["job"]).job()
