"""The pages of jobs in the admin site: who reads them, and who stops jobs."""

from io import StringIO
from typing import Any

from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client, TestCase

from shop.tasks import note
from tenure.contrib.django import app
from tenure.control.operation import single
from tenure.store.calls import queries

JOBS = "/admin/tenure/tenurejob/"


def user(name: str, *permissions: str) -> Client:
    made = User.objects.create_user(name, is_staff=True)
    made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(made)
    return client


class Pages(TestCase):
    def setUp(self) -> None:
        self.handle = note.using(queue="notes").enqueue("<script>alert(1)</script>")
        self.page = f"{JOBS}{self.handle.id}/"
        self.viewer = user("vera", "view_tenurejob")
        self.stopper = user("sam", "stop_tenurejob")

    def text(self, client: Client, page: str, **query: Any) -> str:
        answer = client.get(page, query)
        self.assertEqual(answer.status_code, 200)
        return str(answer.content.decode())

    def test_only_staff_with_the_permission_reads(self) -> None:
        for page in (JOBS, self.page):
            self.assertEqual(Client().get(page).status_code, 302)
            self.assertEqual(user(f"nobody{len(page)}").get(page).status_code, 403)
        self.assertNotIn("tenurejob", self.text(user("someone"), "/admin/"))
        self.assertIn(JOBS, self.text(self.viewer, "/admin/"))

    def test_a_viewer_reads_and_changes_nothing(self) -> None:
        self.assertIn("shop.tasks.note", self.text(self.viewer, JOBS, queue="notes"))
        self.assertIn("No jobs.", self.text(self.viewer, JOBS, queue="others"))
        page = self.text(self.viewer, self.page)
        self.assertIn("&lt;script&gt;", page)
        self.assertNotIn("<script>alert", page)
        self.assertNotIn("cancel/", page)
        answer = self.viewer.post(f"{self.page}cancel/", {"reason": "no"})
        self.assertEqual((answer.status_code, self.handle.status()), (403, "queued"))

    def test_who_may_stop_jobs_pauses_resumes_and_cancels(self) -> None:
        self.assertIn("cancel/", self.text(self.stopper, self.page))
        for action, status in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
            answer = self.stopper.post(
                f"{self.page}{action}/", {"reason": f"{action} it"}, follow=True
            )
            self.assertContains(answer, f"Requested: {action}")
            self.assertEqual(self.handle.status(), status)
        job = self.handle.job()
        self.assertEqual((job.cancelled_by, job.cancellation_reason), ("sam", "cancel it"))
        audited = app.perform(single(queries.audit_log("job", str(job.id))))
        self.assertEqual(
            {(row.actor, row.via) for row in audited if row.actor == "sam"}, {("sam", "django")}
        )
        self.assertNotIn("cancel/", self.text(self.stopper, self.page))

    def test_what_cannot_be_done_is_answered_with_a_sentence(self) -> None:
        answer = self.stopper.post(f"{self.page}cancel/", {"reason": " "}, follow=True)
        self.assertContains(answer, "Give a reason")
        answer = self.stopper.post(f"{self.page}resume/", {"reason": "go"}, follow=True)
        self.assertContains(answer, "resume")
        self.assertEqual(self.handle.status(), "queued")
        self.assertContains(self.stopper.get(JOBS, {"status": "odd"}), "odd")
        self.assertContains(self.stopper.get(JOBS, {"below": "9" * 30}), "jobs")
        for path in ("999999/", f"{'9' * 30}/", "999999/cancel/", f"{self.handle.id}/explode/"):
            method = self.stopper.get if path.count("/") == 1 else self.stopper.post
            answer = method(f"{JOBS}{path}", {"reason": "no"})
            self.assertEqual((path, answer.status_code), (path, 404))
        self.assertEqual(self.stopper.get(f"{self.page}cancel/").status_code, 405)

    def test_a_form_from_elsewhere_is_refused(self) -> None:
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(User.objects.get(username="sam"))
        answer = strict.post(f"{self.page}cancel/", {"reason": "no"})
        self.assertEqual((answer.status_code, self.handle.status()), (403, "queued"))

    def test_commands_that_visit_every_model_pass(self) -> None:
        call_command("dumpdata", "tenure", "--all", stdout=(told := StringIO()))
        self.assertEqual(told.getvalue().strip(), "[]")
        call_command("makemigrations", "--check", stdout=StringIO())
