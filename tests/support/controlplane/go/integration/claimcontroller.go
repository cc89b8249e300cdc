// This file is compiled into the package of Kubernetes' integration tests of Dynamic Resource
// Allocation, which then start the claim controller through it.
package dra

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// testContext is what is used here of a test's context, whose package is another since 1.37.
type testContext interface {
	context.Context
	Errorf(format string, args ...any)
	RESTConfig() *restclient.Config
}

// runClaimController runs the command of $CLAIM_CONTROLLER against the API server of the test until
// the context ends. Without the variable it runs the built-in controller. $CLAIM_CONTROLLER_LOGS is
// the folder of the command's logs.
func runClaimController(tCtx testContext, builtIn func()) {
	command := strings.Fields(os.Getenv("CLAIM_CONTROLLER"))
	if len(command) == 0 {
		builtIn()
		return
	}
	if err := runCommand(tCtx, tCtx.RESTConfig(), command); err != nil && tCtx.Err() == nil {
		tCtx.Errorf("claim controller: %v", err)
	}
}

func runCommand(ctx context.Context, config *restclient.Config, command []string) error {
	folder, err := os.MkdirTemp(os.Getenv("CLAIM_CONTROLLER_LOGS"), "run-")
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := write(kubeconfig, config); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.CommandContext(ctx, command[0], append(command[1:], "--kubeconfig="+kubeconfig)...)
	process.Stdout, process.Stderr = log, log
	process.Cancel = func() error { return process.Process.Signal(os.Interrupt) }
	process.WaitDelay = 15 * time.Second
	return process.Run()
}

// write writes a kubeconfig. The certificate of an API server that runs inside a test is not
// verified, because it is for another name than that of the address.
func write(path string, config *restclient.Config) error {
	const name = "test"
	content := clientcmdapi.NewConfig()
	content.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, InsecureSkipTLSVerify: true}
	content.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	content.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	content.CurrentContext = name
	return clientcmd.WriteToFile(*content, path)
}
