"""The certificate authority of `dragoman_drivers.throwaway`, by its names in tests."""

from dragoman_drivers.throwaway.certificates import Authority, KeyPairPaths, signing_keys, write

__all__ = ["Authority", "KeyPairPaths", "signing_keys", "write"]
