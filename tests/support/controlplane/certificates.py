"""The certificate authority of `dragoman.throwaway`, by its names in tests."""

from dragoman.throwaway.certificates import Authority, KeyPair, signing_keys, write

__all__ = ["Authority", "KeyPair", "signing_keys", "write"]
