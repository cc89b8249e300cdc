// Package integration runs Kubernetes' integration tests of Dynamic Resource Allocation.
// $CONFIGURATIONS is a regular expression of the API server configurations to test.
package integration

import (
	"os"
	"testing"

	"dragoman.dev/controlplane/upstream/dra"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/test/integration/framework"
)

func TestDRA(t *testing.T) {
	// framework.EtcdMain would wait ten minutes for goroutines that the API server leaves behind.
	framework.StartEtcd(klog.Background(), t, true)
	dra.Run(t, os.Getenv("CONFIGURATIONS"))
}
