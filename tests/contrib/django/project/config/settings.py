"""The settings of a shop. The test names the server, and what differs from the usual."""

import json
import os
from typing import Any

import django

SECRET_KEY = "secret"
DEBUG = False
ALLOWED_HOSTS = ["testserver"]
USE_TZ = True
ROOT_URLCONF = "config.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_BACKPORT = ["django_tasks"] if django.VERSION < (6, 0) else []
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    *_BACKPORT,
    "tenure.contrib.django",
    "shop",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
LOGGING = {"version": 1}  # which disables the loggers that are there
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

DATABASES: dict[str, Any] = json.loads(os.environ["SHOP_DATABASES"])
TENURE: Any = {"lease": "6s", "beat": "1s", "retry": {"max": 3, "base": "10ms"}}
if "SHOP_TENURE" in os.environ:
    TENURE = json.loads(os.environ["SHOP_TENURE"])
TASKS: dict[str, Any] = {
    "default": {"BACKEND": "tenure.contrib.django.TenureBackend", "QUEUES": ["default", "mail"]},
    "at_once": {
        "BACKEND": "tenure.contrib.django.TenureBackend",
        "ENQUEUE_ON_COMMIT": False,
        "OPTIONS": {"retry": 0},
    },
}
