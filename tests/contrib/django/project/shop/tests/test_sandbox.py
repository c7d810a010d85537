"""Jobs run inside a test, in the transaction of the test."""

from django.test import TestCase

from shop.framework import TaskResultStatus
from shop.models import Order
from shop.tasks import aship, odd, pack, refuse, ship
from tenure.contrib.django import app
from tenure.testing import Databases, Sandbox


class InASandbox(TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.for_jobs = cls.enterClassContext(Databases(app.url))

    def setUp(self) -> None:
        self.sandbox = self.enterContext(Sandbox(self.for_jobs))
        self.order = Order.objects.create(name="tea")

    def test_a_task_runs_on_the_rows_of_the_test(self) -> None:
        result = ship.enqueue(self.order.pk)
        [run] = self.sandbox.drain()
        self.assertEqual((run.status, run.value), ("completed", "tea"))
        self.order.refresh_from_db()
        self.assertEqual(self.order.state, "shipped")
        result.refresh()
        self.assertEqual((result.status, result.return_value), (TaskResultStatus.SUCCESSFUL, "tea"))

    async def test_coroutines_too(self) -> None:
        await aship.aenqueue(self.order.pk)
        [run] = await self.sandbox.adrain()
        self.assertEqual(run.value["name"], "tea")
        self.assertEqual((await self.sandbox.arun(pack, self.order.pk)).value, "tea")

    def test_a_function_runs_a_coroutine_on_its_rows(self) -> None:
        self.assertEqual(self.sandbox.run(pack, self.order.pk).value, "tea")

    async def test_a_coroutine_runs_a_function_on_its_rows(self) -> None:
        await ship.aenqueue(self.order.pk)
        [run] = await self.sandbox.adrain()
        self.assertEqual(run.value, "tea")

    def test_what_json_has_not_is_no_result(self) -> None:
        odd.enqueue()
        [run] = self.sandbox.drain()
        self.assertEqual((run.status, type(run.error)), ("failed", TypeError))

    def test_a_failure_is_the_exception_itself(self) -> None:
        refuse.enqueue("tea")
        [run] = self.sandbox.drain()
        self.assertEqual((run.status, str(run.error)), ("failed", "no tea"))
