"""Act in the name of a user: in their tenant, as far as their role allows."""

from typing import TYPE_CHECKING

from tenure._lazy import lazy

if TYPE_CHECKING:
    from tenure.control.authorized_client import AuthorizedClient as AuthorizedClient
    from tenure.domain.principal import Principal as Principal
    from tenure.domain.principal import Role as Role

__getattr__, __all__ = lazy(
    __name__,
    {
        "tenure.control.authorized_client": ("AuthorizedClient",),
        "tenure.domain.principal": ("Principal", "Role"),
    },
)
