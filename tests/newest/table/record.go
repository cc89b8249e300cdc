package allocatortesting

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/internal"
)

// record appends a call of Allocate and its answer to the file that DRAGOMAN_RECORD names.
func record(name string, tc AllocatorTestCase, allocator Allocator, slices []*resourceapi.ResourceSlice, results []resourceapi.AllocationResult, failure error) {
	file, err := os.OpenFile(os.Getenv("DRAGOMAN_RECORD"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	expect := map[string]any{}
	switch {
	case failure != nil && errors.Is(failure, internal.ErrFailedAllocationOnNode):
		expect["error"], expect["scope"] = failure.Error(), "node"
	case failure != nil:
		expect["error"], expect["scope"] = failure.Error(), "fatal"
	case results == nil && len(tc.claimsToAllocate) > 0:
		expect["fits"] = false
	default:
		expect["results"] = results
	}
	devices, shared, held := [][]string{}, [][]string{}, []any{}
	for _, device := range tc.allocatedDevices {
		devices = append(devices, strings.Split(device.String(), "/"))
	}
	for share := range tc.allocatedSharedDeviceIDs {
		shared = append(shared, strings.Split(share.String(), "/"))
	}
	for device, capacity := range tc.allocatedCapacityDevices {
		amounts := map[string]string{}
		for key, amount := range capacity {
			amounts[text(key)] = amount.String()
		}
		held = append(held, map[string]any{"device": strings.Split(device.String(), "/"), "capacity": amounts})
	}
	line, err := json.Marshal(map[string]any{
		"id": name, "variant": string(allocator.Channel()), "features": tc.features, "node": tc.node,
		"claims": unwrap(tc.claimsToAllocate...), "classes": tc.classes, "slices": tc.slices, "expect": expect,
		"state": map[string]any{"devices": devices, "shared": shared, "aggregatedCapacity": held},
		"steps": steps(allocator),
	})
	if err != nil {
		panic(err)
	}
	file.Write(append(line, '\n'))
}

// text returns a name as a driver publishes it.
func text(name any) string {
	if named, ok := name.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprint(name)
}

// steps returns the search effort; -1 where it is not counted.
func steps(allocator Allocator) int64 {
	stats := reflect.ValueOf(allocator).MethodByName("GetStats")
	if !stats.IsValid() {
		return -1
	}
	found := reflect.Indirect(stats.Call(nil)[0])
	if !found.IsValid() {
		return -1
	}
	return found.Field(0).Int()
}
