"""A model without a table: it gives the admin site its entry, and Django its permissions."""

from typing import Any

from django.db import models


class NoRows(models.Manager):
    """Find nothing: jobs are read and changed by calls of Tenure alone."""

    def get_queryset(self) -> Any:
        """Return no rows, without a query; ``dumpdata`` asks every model."""
        return super().get_queryset().none()


class TenureJob(models.Model):
    """A job in the admin site."""

    objects = NoRows()

    class Meta:
        managed = False
        base_manager_name = "objects"
        verbose_name = "job"
        default_permissions = ("view",)
        permissions = (("stop_tenurejob", "Can cancel, pause and resume jobs"),)
