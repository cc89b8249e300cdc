// Package integration runs Kubernetes' integration tests of Dynamic Resource Allocation.
// $CONFIGURATIONS is a regular expression of the API server configurations to test.
package integration

import (
	"os"
	"testing"

	"dragoman.dev/controlplane/upstream/dra"
	"k8s.io/kubernetes/test/integration/framework"
)

func TestMain(m *testing.M) {
	framework.EtcdMain(m.Run)
}

func TestDRA(t *testing.T) {
	dra.Run(t, os.Getenv("CONFIGURATIONS"))
}
