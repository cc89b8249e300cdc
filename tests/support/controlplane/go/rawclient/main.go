// Command rawclient sends the writes of a claim controller and nothing else: one claim for each
// template entry of each pod, then one patch of the pod's status. It uses client-go without a
// client-side limit, watches nothing, decides nothing and never tries again.
//
//	rawclient -kubeconfig FILE -namespace NAME -concurrency 64 -protobuf
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

const annotation = "resource.kubernetes.io/pod-claim-name"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	namespace := flag.String("namespace", "", "of the pods")
	concurrency := flag.Int("concurrency", 64, "pods in hand at once")
	protobuf := flag.Bool("protobuf", false, "send and receive protobuf where the API allows it")
	flag.Parse()
	if err := run(*kubeconfig, *namespace, *concurrency, *protobuf); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, namespace string, concurrency int, protobuf bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	if protobuf {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = config.ContentType + ",application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	templates, err := client.ResourceV1().ResourceClaimTemplates(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	specs := map[string]resourceapi.ResourceClaimSpec{}
	for _, one := range templates.Items {
		specs[one.Name] = one.Spec.Spec
	}
	pods, err := client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	return forEach(pods.Items, concurrency, func(pod *corev1.Pod) error { return serve(client, pod, specs) })
}

func forEach(pods []corev1.Pod, concurrency int, do func(*corev1.Pod) error) error {
	next := make(chan *corev1.Pod)
	failed := make(chan error, concurrency)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for pod := range next {
				if err := do(pod); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for index := range pods {
		select {
		case next <- &pods[index]:
		case err := <-failed:
			return err
		}
	}
	close(next)
	workers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// serve creates the claims of a pod at once, then publishes them.
func serve(client kubernetes.Interface, pod *corev1.Pod, specs map[string]resourceapi.ResourceClaimSpec) error {
	statuses := make([]corev1.PodResourceClaimStatus, len(pod.Spec.ResourceClaims))
	failed := make(chan error, len(statuses))
	for index, entry := range pod.Spec.ResourceClaims {
		claim := claimOf(pod, entry.Name, specs[*entry.ResourceClaimTemplateName])
		statuses[index] = corev1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &claim.Name}
		go func() {
			options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore}
			_, err := client.ResourceV1().ResourceClaims(pod.Namespace).Create(context.Background(), claim, options)
			failed <- err
		}()
	}
	for range statuses {
		if err := <-failed; err != nil {
			return err
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"resourceClaimStatuses": statuses},
	})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldValidation: metav1.FieldValidationIgnore}
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(
		context.Background(), pod.Name, types.StrategicMergePatchType, patch, options, "status")
	return err
}

func claimOf(pod *corev1.Pod, entry string, spec resourceapi.ResourceClaimSpec) *resourceapi.ResourceClaim {
	digest := sha256.Sum256([]byte(string(pod.UID) + "\x00" + entry))
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("%s-%s-%s", pod.Name, entry, hex.EncodeToString(digest[:3])),
			Namespace:   pod.Namespace,
			Annotations: map[string]string{annotation: entry},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true),
			}},
		},
		Spec: spec,
	}
}
