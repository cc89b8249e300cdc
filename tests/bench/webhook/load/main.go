// Command load sends AdmissionReviews over kept-alive TLS connections and prints what it measured.
//
// Each connection sends its next request when it has read the answer to the last one. In the body,
// every NUMBER is replaced by a number of eight digits that no other request carries.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	number = "@NUMBER@"
	first  = 10_000_000 // so that every number has eight digits and no zero in front
	span   = 80_000_000
	tick   = 20 * time.Microsecond // more numbers pass in a second than any server answers
)

// options is what the flags say.
type options struct {
	address, path, ca, body, expect string
	concurrency                     int
	requests                        int64
	warmup, duration, pause         time.Duration
}

// result is what is printed, as one JSON document.
type result struct {
	Requests  int     `json:"requests"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_s"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	Max       float64 `json:"max_us"`
	Faults    int     `json:"faults"`
	Fault     string  `json:"fault"`
}

// fleet is what the connections share.
type fleet struct {
	options
	pieces  [][]byte
	counter atomic.Int64
	sent    atomic.Int64
	from    time.Time
	until   time.Time
}

// connection is one client, with what it measured.
type connection struct {
	conn    *tls.Conn
	reader  *bufio.Reader
	buffer  bytes.Buffer
	took    []time.Duration
	faults  int
	fault   string
	lastEnd time.Time
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run() error {
	f := fleet{options: parse()}
	body, err := os.ReadFile(f.body)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json\r\nContent-Length: %d\r\n\r\n", f.path, f.address, len(body))
	f.pieces = bytes.Split(append([]byte(head), body...), []byte(number))
	connections, err := f.connect()
	if err != nil {
		return err
	}
	// Where another run is unlikely to have been.
	f.counter.Store(first + time.Now().UnixNano()/int64(tick)%span)
	f.from = time.Now().Add(f.warmup)
	f.until = f.from.Add(f.duration)
	var done sync.WaitGroup
	for _, c := range connections {
		done.Go(func() { f.drive(c) })
	}
	done.Wait()
	return json.NewEncoder(os.Stdout).Encode(f.summary(connections))
}

func parse() options {
	var o options
	flag.StringVar(&o.address, "address", "", "host:port of the server")
	flag.StringVar(&o.path, "path", "/", "path of the URL")
	flag.StringVar(&o.ca, "ca", "", "PEM file of the server's authority")
	flag.StringVar(&o.body, "body", "", "file of the request's body")
	flag.StringVar(&o.expect, "expect", `"allowed":true`, "text that every answer must contain")
	flag.IntVar(&o.concurrency, "concurrency", 1, "connections at the same time")
	flag.Int64Var(&o.requests, "requests", 0, "requests to stop after; 0 for none")
	flag.DurationVar(&o.warmup, "warmup", time.Second, "what is not counted at the beginning")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "what is counted")
	flag.DurationVar(&o.pause, "pause", 0, "rest of a connection after each answer")
	flag.Parse()
	return o
}

func (f *fleet) connect() ([]*connection, error) {
	pem, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	connections := make([]*connection, f.concurrency)
	for i := range connections {
		conn, err := tls.Dial("tcp", f.address, &tls.Config{RootCAs: roots})
		if err != nil {
			return nil, err
		}
		connections[i] = &connection{conn: conn, reader: bufio.NewReader(conn)}
	}
	return connections, nil
}

// drive sends requests one after the other until the time is over or enough were sent.
func (f *fleet) drive(c *connection) {
	defer c.conn.Close()
	for began := time.Now(); began.Before(f.until); began = time.Now() {
		if f.requests > 0 && f.sent.Add(1) > f.requests {
			return
		}
		err := f.exchange(c)
		c.lastEnd = time.Now()
		if began.After(f.from) {
			c.took = append(c.took, c.lastEnd.Sub(began))
		}
		if err != nil {
			c.faults++
			c.fault = err.Error()
			return
		}
		time.Sleep(f.pause)
	}
}

// exchange sends one request and reads its answer.
func (f *fleet) exchange(c *connection) error {
	unique := []byte(fmt.Sprint(f.counter.Add(1)))
	c.buffer.Reset()
	for i, piece := range f.pieces {
		if i > 0 {
			c.buffer.Write(unique)
		}
		c.buffer.Write(piece)
	}
	if _, err := c.conn.Write(c.buffer.Bytes()); err != nil {
		return err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(f.expect)) {
		return errors.New(response.Status + " " + string(body[:min(len(body), 500)]))
	}
	return nil
}

func (f *fleet) summary(connections []*connection) result {
	var all []time.Duration
	var r result
	end := f.from
	for _, c := range connections {
		all = append(all, c.took...)
		r.Faults += c.faults
		if c.fault != "" {
			r.Fault = c.fault
		}
		if c.lastEnd.After(end) {
			end = c.lastEnd
		}
	}
	slices.Sort(all)
	r.Requests, r.Seconds = len(all), end.Sub(f.from).Seconds()
	if len(all) > 0 {
		r.PerSecond = float64(len(all)) / r.Seconds
		r.P50, r.P99, r.Max = at(all, 0.5), at(all, 0.99), at(all, 1)
	}
	return r
}

// at returns a quantile of sorted durations, in microseconds.
func at(sorted []time.Duration, quantile float64) float64 {
	index := min(len(sorted)-1, int(quantile*float64(len(sorted))))
	return float64(sorted[index].Nanoseconds()) / 1000
}
