"""Feature gates that Kubernetes does not know any more, up to v1.38.0-beta.0.

Written by docs/generate_faults.py.
"""

from collections.abc import Mapping
from types import MappingProxyType

GATES_REMOVED_IN: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "APIServerTracing": (1, 37),
        "AggregatedDiscoveryRemoveBetaType": (1, 38),
        "AllowOverwriteTerminationGracePeriodSeconds": (1, 38),
        "AnonymousAuthConfigurableEndpoints": (1, 37),
        "AnyVolumeDataSource": (1, 37),
        "AuthorizeNodeWithSelectors": (1, 37),
        "AuthorizeWithSelectors": (1, 37),
        "BtreeWatchCache": (1, 37),
        "CRDValidationRatcheting": (1, 38),
        "ConsistentListFromCache": (1, 37),
        "CustomResourceFieldSelectors": (1, 38),
        "DisableAllocatorDualWrite": (1, 38),
        "DynamicResourceAllocation": (1, 38),
        "ExecProbeTimeout": (1, 38),
        "GangScheduling": (1, 37),
        "InPlacePodVerticalScaling": (1, 38),
        "JobBackoffLimitPerIndex": (1, 37),
        "JobManagedBy": (1, 38),
        "JobPodReplacementPolicy": (1, 37),
        "JobSuccessPolicy": (1, 37),
        "KubeletTracing": (1, 38),
        "LogarithmicScaleDown": (1, 37),
        "MatchLabelKeysInPodAffinity": (1, 38),
        "MultiCIDRServiceAllocator": (1, 38),
        "NFTablesProxyMode": (1, 38),
        "NodeSwap": (1, 38),
        "OrderedNamespaceDeletion": (1, 37),
        "PodGroupPreemptionPolicy": (1, 38),
        "PodLifecycleSleepAction": (1, 37),
        "PodLifecycleSleepActionAllowZero": (1, 37),
        "PodSchedulingReadiness": (1, 38),
        "PreferSameTrafficDistribution": (1, 38),
        "PreventStaticPodAPIReferences": (1, 37),
        "RecoverVolumeExpansionFailure": (1, 38),
        "RelaxedDNSSearchValidation": (1, 37),
        "ResilientWatchCacheInitialization": (1, 37),
        "RetryGenerateName": (1, 37),
        "SchedulerQueueingHints": (1, 37),
        "SeparateTaintEvictionController": (1, 38),
        "ServiceAccountTokenJTI": (1, 38),
        "ServiceAccountTokenNodeBinding": (1, 38),
        "ServiceAccountTokenNodeBindingValidation": (1, 38),
        "ServiceAccountTokenPodNodeInfo": (1, 38),
        "SidecarContainers": (1, 37),
        "StreamingCollectionEncodingToJSON": (1, 37),
        "StreamingCollectionEncodingToProtobuf": (1, 37),
        "StructuredAuthenticationConfiguration": (1, 37),
        "SupplementalGroupsPolicy": (1, 38),
        "SystemdWatchdog": (1, 38),
        "WinDSR": (1, 38),
        "WinOverlay": (1, 38),
        "WindowsHostNetwork": (1, 38),
        "WorkloadAwarePreemption": (1, 37),
    }
)
"""First version without a gate; its components end where a flag sets it.

Source: test/compatibility_lifecycle/reference of one release of each version.
"""
