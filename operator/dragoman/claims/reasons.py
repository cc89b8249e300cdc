"""Every reason for an action on a claim, or for waiting."""

from enum import StrEnum
from typing import Self


class ClaimReason(StrEnum):
    """A reason, as it stands in logs and metrics; `meaning` explains it in a sentence."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member from its name in logs and its meaning."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    # Creation
    TEMPLATE = "ClaimFromTemplate", "An entry names a template and has no claim yet."
    CLAIM_LOST = "ClaimLost", "The claim that the status names does not exist any more."
    CLAIM_FOREIGN = (
        "ForeignResourceClaim",
        "The claim that the status names belongs to another owner; dragoman does not change it.",
    )
    BINDING = "ClaimBound", "The status does not name the claim of an entry yet."

    # Waiting
    TEMPLATE_MISSING = (
        "TemplateNotFound",
        "The template that an entry names does not exist in the pod's namespace.",
    )
    CLAIM_MISSING = (
        "ResourceClaimNotFound",
        "The claim that an entry names does not exist; a user must create it.",
    )
    GROUP_MISSING = "PodGroupNotFound", "The PodGroup that the pod names does not exist."
    GROUP_CLAIM_PENDING = (
        "PodGroupClaimPending",
        "The entry stands for a claim of the PodGroup, which does not exist yet.",
    )
    ENTRY_UNSUPPORTED = (
        "UnsupportedEntry",
        "The entry names neither a claim nor a template: a form of a newer API.",
    )
    NAMES_TAKEN = (
        "ClaimNamesTaken",
        "Every name that could be given to the claim is taken by other objects.",
    )
    CREATION_FAILED = (
        "FailedResourceClaimCreation",
        "The API server rejected the claim, for example because of a quota or a policy.",
    )

    NOT_OVERDUE = (
        "NotOverdue",
        "Another controller is active; its grace has not passed yet.",
    )

    # Reservation
    POD_SCHEDULED = (
        "PodScheduled",
        "A pod that has a node uses the claim and is not in reservedFor.",
    )
    RESERVATIONS_FULL = (
        "ReservedForFull",
        "The claim has 256 consumers, which is the most that the API allows.",
    )

    # Release
    CONSUMERS_GONE = (
        "ConsumersGone",
        "Consumers in reservedFor have finished, were deleted, or were replaced.",
    )
    LAST_CONSUMER_GONE = (
        "LastConsumerGone",
        "The claim has no consumers any more: its devices are deallocated.",
    )
    CONTAINERS_NOT_ENDED = (
        "ContainersNotEnded",
        "A pod left the API before its containers had ended; its node has to end them first.",
    )
    LONG_GRACE = (
        "LongGracePeriod",
        "A pod runs whose grace period is longer than a later operator would assume.",
    )
    CONTAINERS_ENDED = (
        "ContainersEnded",
        "No pod that left the API keeps the claim any more; the record of it is removed.",
    )
    CONSUMER_UNSEEN = (
        "ConsumerUnseen",
        "A consumer exists, but its watch has not reported it; it is looked for again.",
    )
    CLAIM_DELETED = "ClaimDeleted", "A claim under deletion without consumers is deallocated."
    NOTHING_TO_PROTECT = (
        "NothingToProtect",
        "The claim holds no devices, so the scheduler's finalizer has nothing to protect.",
    )
    OWNER_DONE = "OwnerDone", "The pod that the claim was generated for has finished."
    OWNER_REPLACED = "OwnerReplaced", "Another pod now has the name of the claim's owner."
    DUPLICATE = (
        "DuplicateClaim",
        "Two controllers made a claim for one entry, and the pod's status names the other one.",
    )
    OWNER_GONE = (
        "OwnerGone",
        "The pod of the generated claim is deleted, and no garbage collector deleted the claim.",
    )
