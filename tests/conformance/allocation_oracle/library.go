//go:build !kube134 && !kube135

package main

import (
	"errors"

	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

func newCache(features structured.Features) *cel.Cache {
	return cel.NewCache(10, cel.Features{
		EnableConsumableCapacity: features.ConsumableCapacity,
		EnableListTypeAttributes: features.ListTypeAttributes,
	})
}

// enable lets one variant of the allocator run, or without a name all of them.
func enable(variants ...string) { structured.EnableAllocators(variants...) }

// ofNode tells whether an error rules out one node only.
func ofNode(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }
