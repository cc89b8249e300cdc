//go:build !kube138

package main

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

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

func asDevice(given device) dracel.Device {
	return dracel.Device{
		Driver:                   given.Driver,
		AllowMultipleAllocations: given.AllowMultipleAllocations,
		Attributes:               given.Attributes,
		Capacity:                 given.Capacity,
	}
}
