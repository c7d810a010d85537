"""Wrong settings are found by the checks of Django, with a sentence."""

from typing import Any
from unittest import mock

from django.core.checks import run_checks
from django.db import connections
from django.test import SimpleTestCase, modify_settings, override_settings
from psycopg.conninfo import conninfo_to_dict

from tenure.contrib.django import TenureBackend
from tenure.contrib.django.configuration import url_of

BACKEND = "tenure.contrib.django.TenureBackend"


class Checks(SimpleTestCase):
    def found(self, **settings: Any) -> list[tuple[str, str]]:
        with override_settings(**settings):
            return [(str(error.id), error.msg) for error in run_checks()]

    def test_the_settings_of_the_shop_pass(self) -> None:
        self.assertEqual(self.found(), [])

    def test_settings_of_tenure(self) -> None:
        for tenure, number, sentence in [
            ({"lease": "1s"}, 1, "beat: 5s leaves no room"),
            ({"LEASE": "20s"}, 1, "LEASE: there is no such setting"),
            (["lease"], 1, "settings.TENURE: it takes a dict"),
            ({1: "20s"}, 1, "settings.TENURE: it takes a dict"),
            ({"database": 1}, 1, "database takes the name of one of DATABASES"),
            ({"database": "jobs"}, 2, "DATABASES has no such database"),
        ]:
            [(found, message)] = self.found(TENURE=tenure)
            self.assertEqual(found, f"tenure.E{number:03}")
            self.assertIn(sentence, message)
        self.assertEqual(self.found(TENURE={"database": None}), [])

    def test_a_database_that_is_not_that_of_django_is_a_warning(self) -> None:
        url = "postgresql://elsewhere/jobs"
        [(found, message)] = self.found(TENURE={"database_url": url})
        self.assertEqual(found, "tenure.W001")
        self.assertIn("jobs are not part of its transactions", message)
        self.assertEqual(self.found(TENURE={"database_url": url, "database": None}), [])
        self.assertEqual(self.found(TENURE={"database_url": url_of("default")}), [])

    def test_the_url_of_a_database_has_all_of_its_settings(self) -> None:
        parts = {"USER": "me@x", "PASSWORD": "a:/?#%& b", "HOST": "db.example.org", "PORT": 5433}
        options = {"sslmode": "require", "application_name": "shop", "assume_role": "writer"}
        settings = connections["default"].settings_dict
        with mock.patch.dict(settings, {**parts, "NAME": "a shop", "OPTIONS": options}):
            self.assertEqual(
                conninfo_to_dict(url_of("default")),
                {
                    "user": "me@x",
                    "password": "a:/?#%& b",
                    "dbname": "a shop",
                    "host": "db.example.org",
                    "port": "5433",
                    "sslmode": "require",
                    "options": "-c role=writer",
                },
            )

    def test_the_app_must_be_installed(self) -> None:
        with modify_settings(INSTALLED_APPS={"remove": ["tenure.contrib.django"]}):
            [error] = TenureBackend("default", {}).check()
        self.assertEqual(error.id, "tenure.E003")

    def test_settings_of_a_backend(self) -> None:
        for more, number, sentence in [
            ({"OPTIONS": {"retires": 0}}, 4, "OPTIONS: retires"),
            ({"OPTIONS": {"timeout": "long"}}, 4, "OPTIONS: timeout"),
            ({"OPTIONS": {"queue": "a"}}, 4, "OPTIONS: queue is not an option of a backend"),
            ({"QUEUES": ["default", ""]}, 5, "QUEUES: "),
        ]:
            [(found, message)] = self.found(TASKS={"default": {"BACKEND": BACKEND, **more}})
            self.assertEqual(found, f"tenure.E{number:03}")
            self.assertIn(f"TASKS['default']: {sentence}", message)
