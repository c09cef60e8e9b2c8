package enginetest

import (
	"encoding/xml"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/storage/engine"
)

// Cluster starts engines that know each other as the shards of a cluster, each
// behind a proxy, which is how they reach one another.
func Cluster(t testing.TB, name string, shards int) ([]*engine.Engine, []*Proxy) {
	t.Helper()
	Need(t)
	proxies := make([]*Proxy, shards)
	var hosts strings.Builder
	for i := range proxies {
		proxies[i] = NewProxy(t)
		_, port, err := net.SplitHostPort(proxies[i].Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&hosts, "<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>%s</port></replica></shard>", port)
	}
	// With a secret, servers trust each other to say who asks.
	text := fmt.Sprintf("<clickhouse><remote_servers><%[1]s><secret>%[2]x</secret>%[3]s</%[1]s></remote_servers></clickhouse>", name, time.Now().UnixNano(), hosts.String())
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
		t.Fatal(err)
	}
	engines := make([]*engine.Engine, shards)
	for i := range engines {
		dir := t.TempDir()
		// ClickHouse adds what is in there to its configuration, which is in run.
		more := filepath.Join(dir, "run", "config.d")
		if err := os.MkdirAll(more, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(more, "cluster.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		engines[i] = Start(t, dir, true)
		proxies[i].To(engines[i].Endpoint().Native)
	}
	t.Cleanup(func() { // before they stop, who would wait for each other's connections
		for _, p := range proxies {
			p.Refuse(true)
		}
	})
	return engines, proxies
}
