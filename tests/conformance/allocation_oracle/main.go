// Command oracle answers allocation cases with kube-scheduler's own library.
//
// It reads one JSON request per line from standard input and writes one JSON answer per line to
// standard output, in the same order. `op` selects the question:
//
//	case    one call of Allocate: a case of the conformance format
//	world   remember a cluster for sweeps
//	sweep   try pods on every node of the remembered cluster, and measure how long that takes
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

type capacity struct {
	Device   []string                                        `json:"device"`
	Capacity map[resourceapi.QualifiedName]resource.Quantity `json:"capacity"`
}

type state struct {
	Devices            [][]string `json:"devices"`
	Shared             [][]string `json:"shared"`
	AggregatedCapacity []capacity `json:"aggregatedCapacity"`
}

type request struct {
	Op        string                         `json:"op"`
	Features  structured.Features            `json:"features"`
	Variant   string                         `json:"variant"`
	Node      *v1.Node                       `json:"node"`
	Nodes     []*v1.Node                     `json:"nodes"`
	Claims    []*resourceapi.ResourceClaim   `json:"claims"`
	Pods      [][]*resourceapi.ResourceClaim `json:"pods"`
	Classes   classes                        `json:"classes"`
	Slices    []*resourceapi.ResourceSlice   `json:"slices"`
	Allocated []*resourceapi.ResourceClaim   `json:"allocated"`
	Rules     []json.RawMessage              `json:"taintRules"`
	State     state                          `json:"state"`
	Seconds   float64                        `json:"seconds"`
}

type answer map[string]any

// classes is a lister over the DeviceClasses of a case.
type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}

func main() {
	debug.SetGCPercent(400)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder := json.NewDecoder(in)
	var world request
	for {
		var asked request
		if err := decoder.Decode(&asked); err != nil {
			out.Flush()
			return
		}
		var reply answer
		switch asked.Op {
		case "world":
			world = asked
			reply = answer{"slices": len(world.Slices)}
		case "sweep":
			reply = sweep(&world, &asked)
		default:
			reply = allocate(&asked)
		}
		if err := encoder.Encode(reply); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out.Flush()
	}
}

func allocate(asked *request) (reply answer) {
	defer func() {
		if problem := recover(); problem != nil {
			reply = answer{"panic": fmt.Sprint(problem)}
		}
	}()
	if asked.Variant == "" {
		enable()
	} else {
		enable(asked.Variant)
	}
	seconds := asked.Seconds
	if seconds == 0 {
		seconds = 10
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds*float64(time.Second)))
	defer cancel()
	slices, err := withRules(asked.Slices, asked.Rules)
	if err != nil {
		return answer{"unsupported": err.Error()}
	}
	allocator, err := structured.NewAllocator(ctx, asked.Features, held(asked), asked.Classes, slices, newCache(asked.Features))
	if err != nil {
		return answer{"unsupported": err.Error()}
	}
	results, err := allocator.Allocate(ctx, asked.Node, asked.Claims)
	steps := stepsOf(allocator)
	reply = answer{"steps": steps}
	if channel := reflect.ValueOf(allocator).MethodByName("Channel"); channel.IsValid() {
		reply["variant"] = channel.Call(nil)[0].String()
	}
	switch {
	case err != nil && ofNode(err):
		reply["error"], reply["scope"] = err.Error(), "node"
	case err != nil && ctx.Err() != nil:
		reply["timeout"] = true
	case err != nil:
		reply["error"], reply["scope"] = err.Error(), "fatal"
	case results == nil && len(asked.Claims) > 0:
		reply["fits"] = false
	default:
		reply["results"] = results
	}
	return reply
}

// inOrder returns what was found of slices in their order, which the scheduler's store does not keep.
func inOrder(slices []*resourceapi.ResourceSlice, found []*resourceSlice) []*resourceSlice {
	byName := make(map[string]*resourceSlice, len(found))
	for _, item := range found {
		byName[item.Name] = item
	}
	sorted := make([]*resourceSlice, 0, len(found))
	for _, item := range slices {
		if one, ok := byName[item.Name]; ok {
			sorted = append(sorted, one)
			delete(byName, item.Name)
		}
	}
	return sorted
}

// stepsOf returns the search effort; -1 where the library does not count it.
func stepsOf(allocator structured.Allocator) int64 {
	stats := reflect.ValueOf(allocator).MethodByName("GetStats")
	if !stats.IsValid() {
		return -1
	}
	// The stable allocator of 1.34 and 1.35 returns a nil pointer.
	found := reflect.Indirect(stats.Call(nil)[0])
	if !found.IsValid() {
		return -1
	}
	return found.Field(0).Int()
}

// held gathers what claims hold, by the scheduler plugin's rule.
func held(asked *request) structured.AllocatedState {
	found := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[sharedID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range asked.Allocated {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if !asked.Features.ConsumableCapacity || result.ShareID == nil {
				found.AllocatedDevices.Insert(id)
				continue
			}
			found.AllocatedSharedDeviceIDs.Insert(makeSharedID(id, result.ShareID))
			if result.ConsumedCapacity != nil {
				found.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
		}
	}
	for _, device := range asked.State.Devices {
		found.AllocatedDevices.Insert(idOf(device))
	}
	for _, share := range asked.State.Shared {
		uid := types.UID(share[3])
		found.AllocatedSharedDeviceIDs.Insert(makeSharedID(idOf(share), &uid))
	}
	for _, entry := range asked.State.AggregatedCapacity {
		found.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(idOf(entry.Device), entry.Capacity))
	}
	return found
}

func idOf(parts []string) structured.DeviceID {
	return structured.MakeDeviceID(parts[0], parts[1], parts[2])
}

// sweep tries every pod on every node, a new allocator for each pod, as the scheduler does.
func sweep(world, asked *request) answer {
	enable()
	cache := newCache(world.Features)
	slices, err := converted(world.Slices)
	if err != nil {
		return answer{"unsupported": err.Error()}
	}
	state := held(&request{Features: world.Features, Allocated: append(world.Allocated, asked.Allocated...)})
	var pods []answer
	for _, claims := range asked.Pods {
		ctx := context.Background()
		started := time.Now()
		allocator, err := structured.NewAllocator(ctx, world.Features, state, world.Classes, slices, cache)
		if err != nil {
			return answer{"unsupported": err.Error()}
		}
		fits, errs := 0, 0
		devices, first := 0, -1
		var found []resourceapi.AllocationResult
		calls := make([]float64, 0, len(world.Nodes))
		var last string
		for index, node := range world.Nodes {
			before := time.Now()
			results, err := allocator.Allocate(ctx, node, claims)
			calls = append(calls, float64(time.Since(before).Nanoseconds())/1000)
			switch {
			case err != nil:
				errs++
				last = err.Error()
			case results != nil:
				fits++
				if first < 0 {
					first, found = index, results
				}
				for i := range results {
					devices += len(results[i].Devices.Results)
				}
			}
		}
		seconds := time.Since(started).Seconds()
		sort.Float64s(calls)
		pods = append(pods, answer{
			"seconds": seconds, "fits": fits, "errors": errs, "error": last, "devices": devices,
			"first": first, "results": found,
			"steps": stepsOf(allocator), "p50": calls[len(calls)/2], "p99": calls[len(calls)*99/100],
		})
	}
	return answer{"pods": pods}
}
