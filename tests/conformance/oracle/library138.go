//go:build kube138

package main

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	resourceapi "k8s.io/api/resource/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	draapi "k8s.io/dynamic-resource-allocation/api"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// The conversion of slices reports versions that do not parse.
func init() { utilruntime.ErrorHandlers = nil }

type (
	celEnv       = cel.Env
	celValue     = ref.Val
	celMapper    = traits.Mapper
	celLister    = traits.Lister
	celOptional  = types.Optional
	celBool      = types.Bool
	celNull      = types.Null
	celInt       = types.Int
	celUint      = types.Uint
	celDouble    = types.Double
	celString    = types.String
	celBytes     = types.Bytes
	celTimestamp = types.Timestamp
)

const celTrue = types.True

var costTracking = cel.CostTracking

// asDevice converts a device as the scheduler does: with the slice that publishes it.
func asDevice(given device) dracel.Device {
	published := resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{
		Driver: given.Driver,
		Devices: []resourceapi.Device{{
			AllowMultipleAllocations: given.AllowMultipleAllocations,
			Attributes:               given.Attributes,
			Capacity:                 given.Capacity,
		}},
	}}
	var slice draapi.ResourceSlice
	if err := draapi.Convert_v1_ResourceSlice_To_api_ResourceSlice(&published, &slice, nil); err != nil {
		panic(err)
	}
	converted := &slice.Spec.Devices[0]
	return dracel.Device{
		Driver:                   given.Driver,
		AllowMultipleAllocations: converted.AllowMultipleAllocations,
		LookupUniqueString:       slice.LookupUniqueString,
		Attributes:               converted.Attributes,
		Capacity:                 converted.Capacity,
	}
}

// validateRules does not answer: rules are those of 1.36 here, whatever the cluster.
func validateRules(*request) answer { return answer{"panic": "rules are not compared in 1.38"} }
