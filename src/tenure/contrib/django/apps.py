"""The configuration of ``tenure.contrib.django`` as an app of Django."""

from contextlib import suppress
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate

from tenure.contrib.django.checks import check_settings
from tenure.errors import SettingInvalid


class TenureConfig(AppConfig):
    """Checks of the settings, and the schema of Tenure as a part of ``manage.py migrate``."""

    name = "tenure.contrib.django"
    label = "tenure"
    verbose_name = "Tenure"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks and the migration."""
        checks.register(check_settings)
        with suppress(SettingInvalid):  # before Django 6 the framework need not be installed
            import_module("tenure.contrib.django.framework")  # which checks its backends
        post_migrate.connect(_migrate, sender=self)


def _migrate(using: str, **given: Any) -> None:
    """Bring the schema of Tenure up to date, also in the database of a test run."""
    from tenure.contrib.django.application import app

    if "plan" in given and using == app.alias and app.uses_django:  # a flush has no plan
        app.migrate()
