//go:build kube134 || kube135

package main

import "k8s.io/client-go/tools/events"

func recorders(string) events.EventRecorder { return &events.FakeRecorder{} }
