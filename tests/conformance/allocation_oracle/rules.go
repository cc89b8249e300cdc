//go:build !kube134 && !kube135 && !kube137 && !kube138

package main

import (
	"context"
	"encoding/json"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	taintapi "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
)

// withRules returns slices with the taints of DeviceTaintRules, as the scheduler's tracker adds them.
func withRules(slices []*resourceapi.ResourceSlice, rules []json.RawMessage) ([]*resourceSlice, error) {
	if len(rules) == 0 {
		return slices, nil
	}
	var objects []runtime.Object
	for _, item := range slices {
		objects = append(objects, item)
	}
	for _, raw := range rules {
		var rule taintapi.DeviceTaintRule
		if err := json.Unmarshal(raw, &rule); err != nil {
			return nil, err
		}
		objects = append(objects, &rule)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(objects...), 0)
	started, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          factory.Resource().V1().ResourceSlices(),
		TaintInformer:          factory.Resource().V1beta2().DeviceTaintRules(),
		ClassInformer:          factory.Resource().V1().DeviceClasses(),
	})
	if err != nil {
		return nil, err
	}
	defer started.Stop()
	factory.Start(ctx.Done())
	select {
	case <-started.HasSyncedChecker().Done():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found, err := started.ListPatchedResourceSlices()
	return inOrder(slices, found), err
}
