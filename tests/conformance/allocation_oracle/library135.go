//go:build kube135

package main

import (
	"encoding/json"
	"errors"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

func newCache(features structured.Features) *cel.Cache {
	return cel.NewCache(10, cel.Features{EnableConsumableCapacity: features.ConsumableCapacity})
}

func enable(variants ...string) { structured.EnableAllocators(variants...) }

func ofNode(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }

func withRules(slices []*resourceapi.ResourceSlice, rules []json.RawMessage) ([]*resourceSlice, error) {
	if len(rules) > 0 {
		return nil, errors.New("DeviceTaintRules are compared from 1.36 on")
	}
	return slices, nil
}
