"""Check where artifacts are to be kept, before anything depends on it."""

from tenure.errors import SettingInvalid


def check_artifacts(url: str | None) -> None:
    """Refuse a URL whose scheme fsspec does not know; the rest of it may hold a password."""
    if url is None or "://" not in url:
        return
    # Here and not above: whoever keeps artifacts in a folder need not load it.
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
            f"artifacts: there is no way to keep files at {scheme}://; it takes a folder, or a URL "
            f"that fsspec knows, such as s3://bucket/folder"
        ) from None
