// Command oracle answers ResourcePoolStatusRequests with kube-controller-manager's own function.
//
// It reads one JSON world per line from standard input, computes the status of each request in it,
// and writes one line of JSON with them to standard output, in the same order.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	_ "unsafe" // for go:linkname

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1alpha3"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/resourcepoolstatusrequest"
)

// The function is a method without an exported name: the linker finds it.
//
//go:linkname calculate k8s.io/kubernetes/pkg/controller/resourcepoolstatusrequest.(*Controller).calculatePoolStatus
func calculate(
	controller *resourcepoolstatusrequest.Controller,
	ctx context.Context,
	request *v1alpha3.ResourcePoolStatusRequest,
) v1alpha3.ResourcePoolStatusRequestStatus

type world struct {
	Slices   []*resourceapi.ResourceSlice          `json:"slices"`
	Claims   []*resourceapi.ResourceClaim          `json:"claims"`
	Rules    []*resourceapi.DeviceTaintRule        `json:"rules"`
	Requests []*v1alpha3.ResourcePoolStatusRequest `json:"requests"`
}

type answer struct {
	Statuses []v1alpha3.ResourcePoolStatusRequestStatus `json:"statuses"`
}

func main() {
	klog.SetLogger(klog.Logger{})
	ctx := context.Background()
	resources := informers.NewSharedInformerFactory(nil, 0).Resource()
	slices, claims := resources.V1().ResourceSlices(), resources.V1().ResourceClaims()
	rules := resources.V1().DeviceTaintRules()
	controller, err := resourcepoolstatusrequest.NewController(
		ctx, nil, resources.V1alpha3().ResourcePoolStatusRequests(), slices, claims, rules)
	fail(err)
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := json.NewEncoder(os.Stdout)
	for {
		var found world
		if err := in.Decode(&found); err == io.EOF {
			return
		} else {
			fail(err)
		}
		fail(slices.Informer().GetIndexer().Replace(objects(found.Slices), ""))
		fail(claims.Informer().GetIndexer().Replace(objects(found.Claims), ""))
		fail(rules.Informer().GetIndexer().Replace(objects(found.Rules), ""))
		var said answer
		for _, request := range found.Requests {
			said.Statuses = append(said.Statuses, calculate(controller, ctx, request))
		}
		fail(out.Encode(said))
	}
}

func objects[T any](items []T) []interface{} {
	found := make([]interface{}, len(items))
	for index, item := range items {
		found[index] = item
	}
	return found
}

func fail(err error) {
	if err != nil {
		panic(err)
	}
}
