// Command oracle answers questions about CEL with the code of Kubernetes itself.
//
// It reads one JSON request per line from standard input and writes one JSON answer per line to
// standard output, in the same order. `op` selects the question:
//
//	dra     compile a device selector and match it against a device
//	rules   validate a value by the x-kubernetes-validations of a structural schema
//	base    evaluate an expression without variables in the base environment
//	bench   measure compilation and matching of device selectors
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

type request struct {
	Op         string          `json:"op"`
	Expression string          `json:"expression"`
	Device     device          `json:"device"`
	Features   features        `json:"features"`
	Schema     json.RawMessage `json:"schema"`
	Value      json.RawMessage `json:"value"`
	Old        json.RawMessage `json:"old"`
	Root       bool            `json:"root"`
	Path       string          `json:"path"`
	Selectors  []string        `json:"selectors"`
	Times      int             `json:"times"`
}

type answer map[string]any

func main() {
	// Answers are short-lived; a larger heap saves collections.
	debug.SetGCPercent(400)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(os.Stdin)
	for {
		var asked request
		if err := decoder.Decode(&asked); err != nil {
			out.Flush()
			return
		}
		if err := encoder.Encode(respond(&asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		// An answer must not wait for the next request, which may never come.
		out.Flush()
	}
}

func respond(asked *request) (reply answer) {
	defer func() {
		if problem := recover(); problem != nil {
			reply = answer{"panic": fmt.Sprint(problem)}
		}
	}()
	switch asked.Op {
	case "dra":
		return matchDevice(asked)
	case "rules":
		return validateRules(asked)
	case "base":
		return evaluate(asked.Expression)
	case "bench":
		return measure(asked)
	default:
		return answer{"panic": "unknown op " + asked.Op}
	}
}
