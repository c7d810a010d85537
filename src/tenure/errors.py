"""Every exception of Tenure.

TenureError
├── SettingInvalid        a setting is wrong, or contradicts another
├── InputRefused          what was handed in cannot be taken as it is
│   ├── NotFound          there is no such thing
│   │   └── JobNotFound   there is no such job
│   ├── IllegalTransition the state of the job does not allow the verb
│   └── KeyTaken          another job holds the unique key, and "refuse" was asked for
├── NotAllowed            the database role may not do this
├── LeaseLost             the worker was declared dead; nothing it says counts any more
├── SchemaMismatch        the database is older or newer than this code
├── StoreUnavailable      the database cannot be reached, or went away
├── EmbeddedUnavailable   the embedded PostgreSQL cannot be started here
├── ResourceClosed        the resource is closed, or is being closed, and takes nothing new
└── CloseFailed           the resource could not be closed
"""


class TenureError(Exception):
    """Something a user can read and act on; the message is a whole sentence."""


class SettingInvalid(TenureError):
    """A setting is wrong, or contradicts another."""


class InputRefused(TenureError):
    """What was handed in cannot be taken as it is."""


class NotFound(InputRefused):
    """There is no such thing."""


class JobNotFound(NotFound):
    """There is no such job."""


class IllegalTransition(InputRefused):
    """The state of the job does not allow the verb."""


class KeyTaken(InputRefused):
    """Another job holds the unique key, and "refuse" was asked for."""


class NotAllowed(TenureError):
    """The database role may not do this."""


class LeaseLost(TenureError):
    """The worker was declared dead; nothing it says counts any more."""


class SchemaMismatch(TenureError):
    """The database is older or newer than this code."""


class StoreUnavailable(TenureError):
    """The database cannot be reached, or went away."""


class EmbeddedUnavailable(TenureError):
    """The embedded PostgreSQL cannot be started here."""


class ResourceClosed(TenureError):
    """The resource is closed, or is being closed, and takes nothing new."""


class CloseFailed(TenureError):
    """The resource could not be closed."""
