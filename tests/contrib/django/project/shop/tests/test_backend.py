"""The backend fulfils the contract of Django's task framework."""

import datetime
from typing import Any

from django.test import TestCase, override_settings
from django.utils import timezone

from shop.framework import InvalidTask, Mismatch, Missing, TaskResultStatus, signals, task
from shop.tasks import aship, count_attempts, count_once, note, reprice, ship
from tenure.contrib.django import TenureBackend, app, task_options
from tenure.contrib.django.options import options_of
from tenure.errors import InputRefused, SettingInvalid


class Backend(TestCase):
    def test_a_task_is_a_job_with_its_options(self) -> None:
        later = timezone.now() + datetime.timedelta(days=1)
        result = ship.using(priority=-100, run_after=later, queue_name="default").enqueue(5)
        job = app.handle(int(result.id)).job()
        self.assertEqual((job.task, job.queue, job.priority), ("shop.tasks.ship", "default", -100))
        self.assertEqual((job.run_at, job.args), (later, {"args": [5], "kwargs": {}}))
        self.assertEqual(app.handle(int(ship.enqueue(5).id)).job().priority, 7)

    def test_a_function_gives_its_task_options_of_tenure(self) -> None:
        job = app.handle(int(reprice.enqueue(5).id)).job()
        self.assertEqual((job.target, job.max_attempts), ("order:5", 3))
        self.assertEqual((job.options["timeout"], job.options["grace"]), ("1m30s", "3s"))
        self.assertEqual(options_of(reprice).filled(False, [5], {})["limits"], ["api:plain"])
        job = app.handle(int(reprice.enqueue(order=6, kind="bulk").id)).job()
        self.assertEqual(job.target, "order:6")
        [declared] = [
            it for it in app.announcement()["tasks"] if it["name"] == "shop.tasks.reprice"
        ]
        self.assertEqual(declared["defaults"]["max_attempts"], 3)

    def test_a_template_does_not_count_the_context(self) -> None:
        first, second, other = (count_once.enqueue(n) for n in (3, 3, 4))
        self.assertEqual(first.id, second.id)
        self.assertNotEqual(first.id, other.id)
        self.assertEqual(app.tasks["shop.tasks.count_once"].executor, "thread")

    def test_options_that_have_no_meaning_are_refused_with_what_would_be_right(self) -> None:
        def pack(order: int) -> None: ...

        for options, why in (
            ({"queue": "mail"}, "write @task(queue_name=...) instead"),
            ({"priority": 3}, "write @task(priority=...) instead"),
            ({"name": "pack"}, "it is an option of @app.task alone"),
            ({"retries": 3}, "retry"),
            ({"timeout": "soon"}, "timeout"),
            ({"target": "order:{id}"}, "takes order"),
            ({"limits": "api"}, "it takes a list of texts"),
            ({"executor": "async"}, "executor"),
        ):
            with (
                self.subTest(why),
                self.assertRaisesMessage((SettingInvalid, InputRefused, TypeError), why),
            ):
                task_options(**options)(pack)
        with self.assertRaisesMessage(SettingInvalid, "below @task"):
            task_options(retry=0)(ship)

    def test_a_result_can_be_read_again(self) -> None:
        made = aship.enqueue(5, "fragile", gift=1)
        self.assertEqual(made.status, TaskResultStatus.READY)
        self.assertIsNotNone(made.enqueued_at)
        read = aship.get_result(made.id)
        self.assertEqual((read.args, read.kwargs), ([5, "fragile"], {"gift": 1}))
        self.assertEqual((read.id, read.task, read.attempts), (made.id, aship, 0))
        self.assertFalse(read.is_finished)
        with self.assertRaises(Mismatch):
            ship.get_result(made.id)

    @override_settings(USE_TZ=False)
    def test_a_project_without_time_zones_has_naive_times(self) -> None:
        later = datetime.datetime(2030, 1, 1)  # noqa: DTZ001
        result = ship.using(run_after=later).enqueue(5)
        result.refresh()
        self.assertEqual(ship.get_result(result.id).task.run_after, later)
        self.assertIsNone(result.enqueued_at.tzinfo)
        self.assertIsNotNone(app.handle(int(result.id)).job().run_at.tzinfo)

    async def test_async_calls_work_like_sync_calls(self) -> None:
        made = await ship.aenqueue(5)
        self.assertEqual((await ship.aget_result(made.id)).args, [5])

    def test_an_unknown_result_id_raises_does_not_exist(self) -> None:
        for name in ("", "x", "-1", "9" * 30, "\0", str(note.enqueue("a").id)):
            with self.subTest(name), self.assertRaises(Missing):
                ship.get_result(name)

    def test_arguments_that_are_not_json_are_refused(self) -> None:
        self.assertEqual(ship.enqueue((1, 2)).args, [[1, 2]])
        with self.assertRaises(TypeError):
            ship.enqueue(object())
        with self.assertRaisesMessage(InputRefused, "the limit is"):
            ship.enqueue("x" * 3_000_000)
        with self.assertRaises(InputRefused):
            ship.enqueue(float("nan"))

    def test_tasks_that_cannot_run_are_refused(self) -> None:
        def inside() -> None: ...

        with self.assertRaisesMessage(InvalidTask, "module level"):
            task(inside)
        with self.assertRaisesMessage(InvalidTask, "Queue 'fast' is not valid"):
            ship.using(queue_name="fast")
        with self.assertRaisesMessage(InvalidTask, "aware"):
            ship.using(run_after=datetime.datetime(2030, 1, 1))  # noqa: DTZ001
        with self.assertRaisesMessage(InvalidTask, "priority"):
            ship.using(priority=101)

    def test_the_backend_supports_every_feature_of_the_framework(self) -> None:
        flags = ("defer", "async_task", "get_result", "priority")
        self.assertTrue(all(getattr(TenureBackend, f"supports_{flag}") for flag in flags))

    def test_the_enqueued_signal_carries_the_id(self) -> None:
        told: list[Any] = []

        def tell(task_result: Any, **_: Any) -> None:
            told.append(task_result.id)

        signals.task_enqueued.connect(tell)
        try:
            self.assertEqual([count_attempts.enqueue(1).id], told)
        finally:
            signals.task_enqueued.disconnect(tell)
