//go:build kube138

package main

import (
	"context"
	"encoding/json"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	draapi "k8s.io/dynamic-resource-allocation/api"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/dynamic-resource-allocation/structured"
)

// The conversion of slices reports versions that do not parse.
func init() { utilruntime.ErrorHandlers = nil }

// resourceSlice is what the allocator reads: converted when the slice arrives.
type resourceSlice = draapi.ResourceSlice

// sharedID names a device that is shared; its shares are not told apart.
type sharedID = structured.DeviceID

func converted(slices []*resourceapi.ResourceSlice) ([]*resourceSlice, error) {
	found := make([]*resourceSlice, 0, len(slices))
	for _, item := range slices {
		var one resourceSlice
		if err := draapi.Convert_v1_ResourceSlice_To_api_ResourceSlice(item, &one, nil); err != nil {
			return nil, err
		}
		found = append(found, &one)
	}
	return found, nil
}

func makeSharedID(device structured.DeviceID, _ *types.UID) sharedID { return device }

// withRules returns slices with the taints of DeviceTaintRules, as the scheduler's tracker adds them.
func withRules(slices []*resourceapi.ResourceSlice, rules []json.RawMessage) ([]*resourceSlice, error) {
	if len(rules) == 0 {
		return converted(slices)
	}
	var objects []runtime.Object
	for _, item := range slices {
		objects = append(objects, item)
	}
	for _, raw := range rules {
		var rule resourceapi.DeviceTaintRule
		if err := json.Unmarshal(raw, &rule); err != nil {
			return nil, err
		}
		objects = append(objects, &rule)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	started, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          draapi.NewInformerForResourceSlice(factory),
		TaintInformer:          factory.Resource().V1().DeviceTaintRules(),
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
