// Command oracle answers which pods kube-scheduler preempts.
//
// It reads one JSON world per line from standard input: nodes, pods, PodDisruptionBudgets and a pod
// that waits. Each world gets a scheduler with the default configuration, which reads from a client in
// memory instead of an API server. It writes one line of JSON for each world, in the same order: the
// node that the scheduler nominated, and the pods that it deleted.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/scheduler"
)

const (
	sideBySide = 16
	patience   = 60 * time.Second
	still      = 100 * time.Millisecond
)

type world struct {
	Nodes   []*v1.Node                      `json:"nodes"`
	Pods    []*v1.Pod                       `json:"pods"`
	Budgets []*policyv1.PodDisruptionBudget `json:"budgets"`
	Waiting *v1.Pod                         `json:"waiting"`
}

type answer struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
	Bound   string   `json:"bound,omitempty"`
	Error   string   `json:"error,omitempty"`
}

func main() {
	quiet := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(quiet)
	_ = quiet.Set("logtostderr", "false")
	_ = quiet.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	in := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	answers := make(chan chan answer, sideBySide)
	go func() {
		defer close(answers)
		for {
			asked := &world{}
			if err := in.Decode(asked); err != nil {
				return
			}
			// The channel's capacity bounds how many worlds run side by side.
			coming := make(chan answer, 1)
			answers <- coming
			go func() { coming <- preempt(asked) }()
		}
	}()
	out := json.NewEncoder(os.Stdout)
	for coming := range answers {
		if err := out.Encode(<-coming); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// attempt records what the scheduler writes.
type attempt struct {
	mutex   sync.Mutex
	victims []string
	bound   string
	refused bool
}

func preempt(asked *world) (reply answer) {
	defer func() {
		if problem := recover(); problem != nil {
			reply = answer{Error: fmt.Sprint(problem)}
		}
	}()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	client := fake.NewSimpleClientset(objects(asked)...)
	seen := &attempt{}
	seen.watch(client, asked.Waiting.Name)
	shared := informers.NewSharedInformerFactory(client, 0)
	made, err := scheduler.New(ctx, client, shared, nil, recorders)
	if err != nil {
		return answer{Error: err.Error()}
	}
	shared.Start(ctx.Done())
	defer func() { stop(); shared.Shutdown() }()
	shared.WaitForCacheSync(ctx.Done())
	if err := made.WaitForHandlersSync(ctx); err != nil {
		return answer{Error: err.Error()}
	}
	go made.Run(ctx)
	for ctx.Err() == nil && !seen.finished(func() bool { return preempting(ctx, made, asked.Waiting) }) {
		time.Sleep(2 * time.Millisecond)
	}
	if ctx.Err() != nil {
		return answer{Error: "no attempt within the time limit"}
	}
	found, err := client.CoreV1().Pods(asked.Waiting.Namespace).Get(ctx, asked.Waiting.Name, metav1.GetOptions{})
	if err != nil {
		return answer{Error: err.Error()}
	}
	// The plugin lets the pod go before it deletes the last victim.
	for found.Status.NominatedNodeName != "" && seen.count() == 0 && ctx.Err() == nil {
		time.Sleep(2 * time.Millisecond)
	}
	if found.Status.NominatedNodeName != "" {
		seen.settle(ctx)
	}
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	sort.Strings(seen.victims)
	return answer{Node: found.Status.NominatedNodeName, Victims: seen.victims, Bound: seen.bound}
}

// preempting returns whether the plugin still deletes victims, which it does in the background.
func preempting(ctx context.Context, made *scheduler.Scheduler, waiting *v1.Pod) bool {
	for _, plugin := range made.Profiles[v1.DefaultSchedulerName].PreEnqueuePlugins() {
		if plugin.Name() == "DefaultPreemption" && !plugin.PreEnqueue(ctx, waiting).IsSuccess() {
			return true
		}
	}
	return false
}

// watch puts itself before the client. Deleted pods keep running, as pods with a grace period do.
func (a *attempt) watch(client *fake.Clientset, waiting string) {
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deleted := action.(clienttesting.DeleteAction)
		a.mutex.Lock()
		a.victims = append(a.victims, deleted.GetName())
		a.mutex.Unlock()
		return true, nil, end(client, deleted)
	})
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		a.mutex.Lock()
		a.bound = binding.Target.Name
		a.mutex.Unlock()
		return true, binding, nil
	})
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.PatchAction).GetName() == waiting {
			a.mutex.Lock()
			a.refused = true
			a.mutex.Unlock()
		}
		return false, nil, nil
	})
}

func end(client *fake.Clientset, deleted clienttesting.DeleteAction) error {
	found, err := client.Tracker().Get(deleted.GetResource(), deleted.GetNamespace(), deleted.GetName())
	if err != nil {
		return err
	}
	ending := found.(*v1.Pod).DeepCopy()
	now := metav1.Now()
	ending.DeletionTimestamp = &now
	return client.Tracker().Update(deleted.GetResource(), ending, deleted.GetNamespace())
}

func (a *attempt) count() int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return len(a.victims)
}

// settle returns once no further victim was deleted for a while.
func (a *attempt) settle(ctx context.Context) {
	count, since := a.count(), time.Now()
	for ctx.Err() == nil && time.Since(since) < still {
		time.Sleep(2 * time.Millisecond)
		if now := a.count(); now != count {
			count, since = now, time.Now()
		}
	}
}

// finished returns whether the pod was bound, or refused and nothing more is being deleted.
func (a *attempt) finished(preempting func() bool) bool {
	a.mutex.Lock()
	bound, refused := a.bound != "", a.refused
	a.mutex.Unlock()
	return bound || refused && !preempting()
}

// objects returns a world with the defaults that the API server sets.
func objects(asked *world) []runtime.Object {
	found := []runtime.Object{asked.Waiting}
	for _, one := range asked.Nodes {
		found = append(found, one)
	}
	for _, one := range asked.Pods {
		found = append(found, one)
	}
	for _, one := range asked.Budgets {
		found = append(found, one)
	}
	for _, one := range found {
		legacyscheme.Scheme.Default(one)
	}
	return found
}
