//go:build !kube138

package main

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"
)

// resourceSlice is what the allocator reads: the API's own type.
type resourceSlice = resourceapi.ResourceSlice

type sharedID = structured.SharedDeviceID

func converted(slices []*resourceapi.ResourceSlice) ([]*resourceSlice, error) { return slices, nil }

func makeSharedID(device structured.DeviceID, share *types.UID) sharedID {
	return structured.MakeSharedDeviceID(device, share)
}
