// Errand is all that the containers of the tests run: it tells what it sees, and does as it is told.
//
// Each argument is one deed, done in order:
//
//	tell             print one line of JSON: the time, and the variables, files and nodes of devices
//	work=2s          stay for so long, or end earlier when asked to
//	hold             stay until asked to end
//	deaf             stay until killed, whoever asks
//	fail-once=/file  exit with 1 unless the file exists, which is made first
//	exit=3           exit with this status
//
// Without arguments it holds: so it serves as the sandbox's own process, too. Called `sleep`, it takes
// seconds, and tells first.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const given = "/var/run/devices"

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	deeds := os.Args[1:]
	if len(deeds) == 0 {
		deeds = []string{"hold"}
	}
	if filepath.Base(os.Args[0]) == "sleep" {
		deeds = []string{"tell", "work=" + deeds[0] + "s"}
	}
	for _, deed := range deeds {
		name, value, _ := strings.Cut(deed, "=")
		if err := do(name, value, ended); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func do(name, value string, ended <-chan os.Signal) error {
	switch name {
	case "tell":
		return tell()
	case "hold":
		<-ended
		return nil
	case "deaf":
		for {
			<-ended
		}
	case "work":
		return work(value, ended)
	case "fail-once":
		return failOnce(value)
	case "exit":
		status, err := strconv.Atoi(value)
		if err == nil {
			os.Exit(status)
		}
		return err
	}
	return fmt.Errorf("unknown deed %q", name)
}

func work(value string, ended <-chan os.Signal) error {
	length, err := time.ParseDuration(value)
	if err != nil {
		return err
	}
	select {
	case <-ended:
	case <-time.After(length):
	}
	return nil
}

func failOnce(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return fmt.Errorf("failing this once")
}

// tell prints variables and files by name, and whether device nodes can be read.
func tell() error {
	now := strconv.FormatInt(time.Now().UnixNano(), 10)
	seen := map[string]map[string]string{"variables": {}, "files": {}, "nodes": {}, "at": {"ns": now}}
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "DEVICE_") {
			seen["variables"][name] = value
		}
	}
	files, _ := filepath.Glob(given + "/*")
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen["files"][filepath.Base(path)] = strings.TrimSpace(string(text))
	}
	nodes, _ := filepath.Glob("/dev/devices/*")
	for _, path := range nodes {
		seen["nodes"][filepath.Base(path)] = opened(path)
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func opened(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	first := make([]byte, 1)
	if _, err := file.Read(first); err != nil {
		return err.Error()
	}
	return "readable"
}
