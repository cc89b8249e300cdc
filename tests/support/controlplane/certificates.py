"""The certificate authority of `dragoman.drivers.throwaway`, by its names in tests."""

from dragoman.drivers.throwaway.certificates import Authority, KeyPairPaths, signing_keys, write

__all__ = ["Authority", "KeyPairPaths", "signing_keys", "write"]
