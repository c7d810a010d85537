"""The check of the setting that names the store of artifacts."""

from tenure.errors import SettingInvalid


def check_artifacts(url: str | None) -> None:
    """Refuse a URL with an unknown scheme. Only the scheme is shown: a URL may hold a password."""
    if url is None or "://" not in url:
        return
    # Imported only here: artifacts in a folder do not need it.
    import fsspec  # type: ignore[import-untyped]

    scheme = url.partition("://")[0].rpartition("::")[2]
    try:
        fsspec.get_filesystem_class(scheme)
    except ImportError as error:
        raise SettingInvalid(
            f"artifacts: {scheme}:// needs a package that is not installed ({error})"
        ) from None
    except ValueError:
        raise SettingInvalid(
            f"artifacts: the scheme {scheme}:// is unknown; use a folder, or a URL "
            f"that fsspec knows, such as s3://bucket/folder"
        ) from None
