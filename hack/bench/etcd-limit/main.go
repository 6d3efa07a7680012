// etcd-limit measures what etcd itself can do through its own Go client: the denominator of our ratios.
//
// Each operation is one transaction: guards that its keys do not exist yet, and one put for each size in -puts. With
// -batch N it packs N such transactions, nested, into one call. Prints one JSON line.
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

func transaction(prefix string, n uint64, values []string) ([]clientv3.Cmp, []clientv3.Op) {
	first := fmt.Sprintf("%s/0/%012d", prefix, n)
	guards := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(first), "=", 0)}
	puts := make([]clientv3.Op, len(values))
	for i, value := range values {
		puts[i] = clientv3.OpPut(fmt.Sprintf("%s/%d/%012d", prefix, i, n), value)
	}
	return guards, puts
}

func main() {
	endpoint := flag.String("endpoint", "127.0.0.1:2379", "address of etcd")
	clients := flag.Int("clients", 64, "calls under way at once")
	seconds := flag.Float64("seconds", 3, "how long to measure")
	batch := flag.Int("batch", 1, "transactions packed into one call")
	sizes := flag.String("puts", "1024", "bytes of each value of one transaction, comma-separated")
	flag.Parse()

	var values []string
	for _, size := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			panic(err)
		}
		values = append(values, strings.Repeat("x", n))
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{*endpoint}, DialTimeout: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	var sequence, operations, failures atomic.Uint64
	prefix := fmt.Sprintf("/limit/%d", time.Now().UnixNano())
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
					guards, puts := transaction(prefix, sequence.Add(1), values)
					_, err = client.Txn(context.Background()).If(guards...).Then(puts...).Commit()
				} else {
					nested := make([]clientv3.Op, *batch)
					for i := range nested {
						guards, puts := transaction(prefix, sequence.Add(1), values)
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

	var all []float64
	for _, part := range latencies {
		all = append(all, part...)
	}
	sort.Float64s(all)
	at := func(q float64) float64 {
		if len(all) == 0 {
			return 0
		}
		return all[int(q*float64(len(all)-1))]
	}
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"perSecond": float64(operations.Load()) / elapsed,
		"p50":       at(0.5),
		"p99":       at(0.99),
		"failures":  float64(failures.Load()),
	})
}
