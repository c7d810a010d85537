"""The app of a project as a worker loads it: with the tasks of all installed apps.

``manage.py tenure worker`` names it; ``DJANGO_SETTINGS_MODULE=site.settings tenure worker
tenure.contrib.django.project:app`` does the same.
"""

import logging

import django
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import autodiscover_modules

from tenure.contrib.django.application import app
from tenure.contrib.django.connections import close_between_jobs
from tenure.errors import SettingInvalid

__all__ = ["app"]

try:
    django.setup()
except ImproperlyConfigured as error:
    raise SettingInvalid(f"Django cannot be set up: {error}") from None
# LOGGING disables the loggers that exist by then, unless it says otherwise: ctx.log is one.
for _name in [name for name in logging.root.manager.loggerDict if name.startswith("tenure")]:
    logging.getLogger(_name).disabled = False
close_between_jobs()
autodiscover_modules("tasks")
assert app.known_url or not app.has_url  # or this raises what is wrong with the settings
connections.close_all()  # what the import of an app opened would stand in the way of a fork
