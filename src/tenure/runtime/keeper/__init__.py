"""The keeper: claims, renews, hears stops and records; it never imports user code."""
