// etcd-limit measures what etcd itself can do through its own Go client: the denominator of our ratios.
//
// Each operation is one transaction: a guard that its first key does not exist yet, and one put for each size in -puts.
// -keys sets how long the keys are, -parent adds a guard that another key exists, -lease puts the last key on a lease.
// With -batch N it packs N such transactions, nested, into one call. Prints one JSON line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// shape is what all transactions of one measurement have in common.
type shape struct {
	prefix string
	parent string
	values []string
	keys   []int
	lease  clientv3.LeaseID
}

func (s shape) key(put int, n uint64) string {
	key := fmt.Sprintf("%s/%d/%012d", s.prefix, put, n)
	if put < len(s.keys) && len(key) < s.keys[put] {
		key += strings.Repeat("k", s.keys[put]-len(key))
	}
	return key
}

func (s shape) transaction(n uint64) ([]clientv3.Cmp, []clientv3.Op) {
	guards := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.key(0, n)), "=", 0)}
	if s.parent != "" {
		guards = append(guards, clientv3.Compare(clientv3.CreateRevision(s.parent), ">", 0))
	}
	puts := make([]clientv3.Op, len(s.values))
	for i, value := range s.values {
		var options []clientv3.OpOption
		if s.lease != 0 && i == len(s.values)-1 {
			options = append(options, clientv3.WithLease(s.lease))
		}
		puts[i] = clientv3.OpPut(s.key(i, n), value, options...)
	}
	return guards, puts
}

func numbers(list string) []int {
	var all []int
	for _, text := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err)
		}
		all = append(all, n)
	}
	return all
}

func main() {
	endpoint := flag.String("endpoint", "127.0.0.1:2379", "address of etcd")
	clients := flag.Int("clients", 64, "calls under way at once")
	seconds := flag.Float64("seconds", 3, "how long to measure")
	batch := flag.Int("batch", 1, "transactions packed into one call")
	sizes := flag.String("puts", "1024", "bytes of each value of one transaction, comma-separated")
	keys := flag.String("keys", "", "bytes of each key of one transaction, comma-separated; shorter ones stay as they are")
	parent := flag.Bool("parent", false, "each transaction also guards that a key exists")
	lease := flag.Bool("lease", false, "the last put of each transaction is on a lease")
	flag.Parse()

	all := shape{prefix: fmt.Sprintf("/limit/%d", time.Now().UnixNano()), keys: numbers(*keys)}
	for _, size := range numbers(*sizes) {
		all.values = append(all.values, strings.Repeat("x", size))
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{*endpoint}, DialTimeout: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	if *parent {
		all.parent = all.prefix + "/parent"
		if _, err := client.Put(context.Background(), all.parent, "x"); err != nil {
			panic(err)
		}
	}
	if *lease {
		granted, err := client.Grant(context.Background(), 3600)
		if err != nil {
			panic(err)
		}
		all.lease = granted.ID
	}

	var sequence, operations, failures atomic.Uint64
	begun := time.Now()
	end := begun.Add(time.Duration(*seconds * float64(time.Second)))
	latencies := make([][]float64, *clients)
	var group sync.WaitGroup
	for worker := 0; worker < *clients; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(end) {
				started := time.Now()
				var err error
				if *batch == 1 {
					guards, puts := all.transaction(sequence.Add(1))
					_, err = client.Txn(context.Background()).If(guards...).Then(puts...).Commit()
				} else {
					nested := make([]clientv3.Op, *batch)
					for i := range nested {
						guards, puts := all.transaction(sequence.Add(1))
						nested[i] = clientv3.OpTxn(guards, puts, nil)
					}
					_, err = client.Txn(context.Background()).Then(nested...).Commit()
				}
				if err != nil {
					failures.Add(1)
					continue
				}
				operations.Add(uint64(*batch))
				latencies[worker] = append(latencies[worker], float64(time.Since(started).Microseconds())/1000)
			}
		}()
	}
	group.Wait()
	elapsed := time.Since(begun).Seconds()

	var took []float64
	for _, part := range latencies {
		took = append(took, part...)
	}
	sort.Float64s(took)
	at := func(q float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return took[int(q*float64(len(took)-1))]
	}
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"perSecond": float64(operations.Load()) / elapsed,
		"p50":       at(0.5),
		"p99":       at(0.99),
		"failures":  float64(failures.Load()),
	})
}
