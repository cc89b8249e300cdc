// Relay joins the connections to a Unix socket with those to a TCP port, in their order.
//
// Kubernetes' own tests run a driver outside of its node. The kubelet connects to a socket on the node,
// the tests to the port through the API server, and a pod that runs this program carries the bytes
// from one to the other. The tests call it as they call the program that it replaces:
//
//	relay --endpoint=/path/of/the/socket --proxy-endpoint=tcp://:9001
package main

import (
	"flag"
	"io"
	"log"
	"net"
	"os"
	"strings"
)

func main() {
	socket := flag.String("endpoint", "", "path of the Unix socket that is made")
	port := flag.String("proxy-endpoint", "", "where TCP connections are accepted, tcp://host:port")
	flag.String("v", "", "has no effect")
	flag.Parse()
	if err := relay(*socket, strings.TrimPrefix(*port, "tcp://")); err != nil {
		log.Fatal(err)
	}
}

func relay(socket, port string) error {
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	near, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	far, err := net.Listen("tcp", port)
	if err != nil {
		return err
	}
	for {
		client, err := near.Accept()
		if err != nil {
			return err
		}
		server, err := far.Accept()
		if err != nil {
			return err
		}
		go join(client, server)
	}
}

// join carries bytes both ways until either side ends.
func join(one, other net.Conn) {
	ended := make(chan struct{}, 2)
	carry := func(to, from net.Conn) {
		io.Copy(to, from)
		ended <- struct{}{}
	}
	go carry(one, other)
	go carry(other, one)
	<-ended
	one.Close()
	other.Close()
}
