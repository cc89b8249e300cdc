//go:build kube134

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

func withRules(slices []*resourceapi.ResourceSlice, rules []json.RawMessage) ([]*resourceSlice, error) {
	if len(rules) > 0 {
		return nil, errors.New("DeviceTaintRules are compared from 1.36 on")
	}
	return slices, nil
}

// enable does nothing: this library chooses by features alone.
func enable(...string) {}

// ofNode is false: every error ends the attempt to schedule the pod.
func ofNode(error) bool { return false }
