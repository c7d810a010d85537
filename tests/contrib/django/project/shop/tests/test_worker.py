"""A real worker, started by manage.py, on the database of the test."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import TransactionTestCase

from shop.framework import TaskResultStatus
from shop.models import Order
from shop.tasks import (
    OutOfStock,
    aship,
    break_connection,
    count_attempts,
    pack,
    process_and_connection,
    read_slowly,
    refuse,
    ship,
    wait_for_a_stop,
)
from tenure.contrib.django import app
from tenure.control.operation import single
from tenure.errors import JobCancelled
from tenure.store.calls import queries

MANAGE = Path(__file__).parents[2] / "manage.py"
PATIENCE = 45.0


def eventually(check: Callable[[], Any], what: Callable[[], str]) -> None:
    until = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > until:
            raise AssertionError(what())
        time.sleep(0.05)


class WithAWorker(TransactionTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="shop-")))
        databases = json.loads(os.environ["SHOP_DATABASES"])
        databases["default"]["NAME"] = connection.settings_dict["NAME"]
        log = folder / "log"
        with log.open("wb") as output:
            cls.worker = subprocess.Popen(
                [sys.executable, str(MANAGE), "tenure", "worker", "--processes", "1", "-v"],
                cwd=folder,  # not that of the project
                env={**os.environ, "SHOP_DATABASES": json.dumps(databases)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        cls.addClassCleanup(cls.end_worker)
        cls.log = log
        eventually(lambda: " runs " in log.read_text() or cls.worker.poll(), log.read_text)

    @classmethod
    def end_worker(cls) -> None:
        cls.worker.send_signal(signal.SIGTERM)
        try:
            cls.worker.wait(PATIENCE)
        finally:
            cls.worker.kill()
            cls.worker.wait()

    def ended(self, result: Any) -> Any:
        def is_finished() -> bool:
            result.refresh()
            return bool(result.is_finished)

        eventually(is_finished, lambda: f"{result.status}\n{self.log.read_text()}")
        return result

    def test_a_task_of_a_view_runs_after_its_transaction(self) -> None:
        found = self.client.get("/order/", {"name": "tea"}).json()
        result = self.ended(ship.get_result(found["result"]))
        self.assertEqual((result.status, result.return_value), (TaskResultStatus.SUCCESSFUL, "tea"))
        self.assertEqual(Order.objects.get(pk=found["order"]).state, "shipped")
        self.assertEqual((result.attempts, result.errors), (1, []))
        self.assertLessEqual(result.enqueued_at, result.started_at)
        self.assertLessEqual(result.started_at, result.finished_at)
        lines = app.perform(single(queries.job_output(int(result.id), "logs")))
        told = [line["line"] for line in lines]
        self.assertTrue({"RUNNING 1", "SUCCESSFUL 1"} <= set(told), told)

    async def test_coroutines_run_with_the_orm(self) -> None:
        answer = await self.async_client.get("/aorder/", {"name": "tea"})
        found = answer.json()
        job = await app.handle(found["job"]).await_end("45s")
        self.assertEqual((job.result, job.cleanup), ("tea", None))
        job = await app.handle(int(found["result"])).await_end("45s")
        self.assertEqual((job.state, job.cleanup), ("completed", None))
        self.assertEqual((await aship.aget_result(found["result"])).return_value["name"], "tea")

    def test_a_failure_has_its_class_and_traceback(self) -> None:
        result = self.ended(refuse.enqueue("tea"))
        self.assertEqual((result.status, result.attempts), (TaskResultStatus.FAILED, 1))
        [error] = result.errors
        self.assertIs(error.exception_class, OutOfStock)
        self.assertIn('raise OutOfStock(f"no {name}")', error.traceback)
        with self.assertRaises(ValueError):
            _ = result.return_value

    def test_attempts_are_counted_and_the_context_knows_them(self) -> None:
        result = self.ended(count_attempts.enqueue(3))
        self.assertEqual(result.return_value, [result.id, 3, "RUNNING"])
        self.assertEqual([error.exception_class for error in result.errors], [ValueError] * 2)
        self.assertEqual((result.attempts, len(set(result.worker_ids[:2]))), (3, 1))
        lines = app.perform(single(queries.job_output(int(result.id), "logs")))
        self.assertIn("attempt 3", [line["line"] for line in lines])
        self.assertEqual(app.handle(int(result.id)).job().progress, {"done": 3, "total": 3})

    def test_each_job_has_a_connection_of_its_own(self) -> None:
        """As in a request: CONN_MAX_AGE is 0, and what a job broke concerns no other."""
        process, first = self.ended(process_and_connection.enqueue()).return_value
        same, second = self.ended(process_and_connection.enqueue()).return_value
        self.assertEqual(process, same)
        self.assertNotEqual(first, second)
        self.ended(break_connection.using(backend="at_once").enqueue())
        self.assertEqual(self.ended(process_and_connection.enqueue()).attempts, 1)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND application_name = 'shop' AND pid <> pg_backend_pid()"
            )
            self.assertEqual(cursor.fetchone(), (0,))

    def test_coroutines_leave_the_cursors_of_one_another_open(self) -> None:
        orders = Order.objects.bulk_create(Order(name=str(n)) for n in range(50))
        slow = [read_slowly.enqueue() for _ in range(2)]
        for order in orders:
            pack.enqueue(order.pk)
        self.assertEqual([handle.result("45s") for handle in slow], [50, 50])

    def test_a_stop_in_the_admin_site_ends_the_code(self) -> None:
        self.client.force_login(User.objects.create_superuser("root"))
        result = wait_for_a_stop.enqueue()
        page = f"/admin/tenure/tenurejob/{result.id}/"
        eventually(lambda: b"<td>running</td>" in self.client.get(page).content, self.log.read_text)
        result.refresh()
        self.assertEqual(result.status, TaskResultStatus.RUNNING)
        self.client.post(f"{page}cancel/", {"reason": "not needed"})
        self.ended(result)
        self.assertEqual(result.status, TaskResultStatus.FAILED)
        [error] = result.errors
        self.assertIs(error.exception_class, JobCancelled)
        self.assertIn("was cancelled by root: not needed", error.traceback)

    def test_runners_are_forked_from_the_project(self) -> None:
        self.assertIn("runners are started by fork", self.log.read_text())

    def test_a_native_task_runs(self) -> None:
        order = Order.objects.create(name="tea")
        self.assertEqual(pack.enqueue(order.pk).result("45s"), "tea")
