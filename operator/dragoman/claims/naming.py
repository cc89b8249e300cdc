"""Names of generated claims: the stock controller's base, made valid, and a deterministic end."""

import hashlib

# The longest base that leaves room for five characters in a name of 63 with one to spare,
# as in kubernetes/pkg/controller/resourceclaim (there: maxBaseLen).
BASE_LIMIT = 57
# k8s.io/apimachinery/pkg/util/rand: no vowels, nothing that looks like another character.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5


def claim_name(*, owner: str, owner_uid: str, entry: str, attempt: int = 0) -> str:
    """Return the name of the claim for an entry of a pod or PodGroup.

    It depends on nothing but its arguments: a creation can so be repeated, and two writers
    cannot make two claims for one entry.

    Args:
        owner: Name of the pod or PodGroup.
        owner_uid: Its UID.
        entry: Name of the entry of `spec.resourceClaims`.
        attempt: 0, and one more for each name that turned out to be taken by another object.
    """
    return base_name(owner, entry) + _suffix(owner_uid, entry, attempt)


def base_name(owner: str, entry: str) -> str:
    """Return what the stock controller sends as generateName, made a valid prefix.

    Longer bases are cut in proportion to both parts, with the stock controller's integer
    arithmetic. Where that cut ends the first part in a dot, the dot goes, and where it leaves
    nothing of it, one character stays: `a.-b` and `-b` are no valid names, and the API server
    would reject them on every retry.
    """
    base = f"{owner}-{entry}-"
    length = len(base)
    if length <= BASE_LIMIT:
        return base
    owner_part = owner[: max(1, len(owner) * BASE_LIMIT // length)].rstrip(".")
    return f"{owner_part}-{entry[: len(entry) * BASE_LIMIT // length]}"


def _suffix(owner_uid: str, entry: str, attempt: int) -> str:
    digest = hashlib.sha256(f"{owner_uid}\0{entry}\0{attempt}".encode()).digest()
    number = int.from_bytes(digest[:8])
    characters = []
    for _ in range(SUFFIX_LENGTH):
        number, index = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[index])
    return "".join(characters)
