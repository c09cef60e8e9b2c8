package schema_test

import (
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/schema"
)

// TestDeployedCluster: the files of the cluster to try rocelens with fit together
// and with the statements that make the tables. Docker is not needed.
func TestDeployedCluster(t *testing.T) {
	dir := filepath.Join("..", "..", "deploy", "cluster")
	read := func(name string, parse func([]byte, any) error, into any) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = parse(text, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var compose struct {
		Services map[string]struct {
			Image       string
			Environment map[string]string
			Volumes     []string
		}
	}
	read("compose.yaml", yaml.Unmarshal, &compose)
	type env struct {
		From string `xml:"from_env,attr"`
	}
	type replica struct {
		Host string `xml:"host"`
		Port int    `xml:"port"`
	}
	var cluster struct {
		Macros struct {
			Shard   env `xml:"shard"`
			Replica env `xml:"replica"`
		} `xml:"macros"`
		Keeper replica `xml:"zookeeper>node"`
		DDL    string  `xml:"distributed_ddl>path"`
		Rails  *struct {
			Secret env `xml:"secret"`
			Shards []struct {
				Replicated bool      `xml:"internal_replication"`
				Replicas   []replica `xml:"replica"`
			} `xml:"shard"`
		} `xml:"remote_servers>rails"`
	}
	read("cluster.xml", xml.Unmarshal, &cluster)
	var keeper struct {
		Port    int `xml:"keeper_server>tcp_port"`
		ID      int `xml:"keeper_server>server_id"`
		Servers []struct {
			ID   int    `xml:"id"`
			Host string `xml:"hostname"`
		} `xml:"keeper_server>raft_configuration>server"`
	}
	read("keeper.xml", xml.Unmarshal, &keeper)
	var users struct {
		Password env `xml:"users>rocelens>password"`
	}
	read("users.xml", xml.Unmarshal, &users)

	golden, err := os.ReadFile(filepath.Join("testdata", "cluster.sql"))
	if err != nil {
		t.Fatal(err)
	}
	o := schema.DefaultOptions()
	o.Cluster = "rails"
	if cluster.Rails == nil || !strings.Contains(string(golden), o.OnCluster()) || !strings.Contains(string(golden), "Distributed('rails'") {
		t.Fatal("the cluster is not that of the statements")
	}
	if k := cluster.Keeper; k.Host != "keeper" || k.Port != keeper.Port || k.Port == 0 || len(keeper.Servers) != 1 ||
		keeper.Servers[0].Host != k.Host || keeper.Servers[0].ID != keeper.ID || compose.Services[k.Host].Image == "" {
		t.Errorf("servers look for a Keeper at %+v, and it is %+v", k, keeper)
	}
	if cluster.DDL == "" || len(cluster.Rails.Shards) != 2 {
		t.Errorf("%+v", cluster)
	}
	servers := 0
	for i, shard := range cluster.Rails.Shards {
		if !shard.Replicated || len(shard.Replicas) != 2 {
			t.Errorf("shard %d: %+v", i+1, shard)
		}
		for _, r := range shard.Replicas {
			servers++
			s := compose.Services[r.Host]
			if s.Environment[cluster.Macros.Shard.From] != string(rune('1'+i)) || s.Environment[cluster.Macros.Replica.From] != r.Host || r.Port != 9000 {
				t.Errorf("%+v is of shard %d, and its service is %+v", r, i+1, s)
			}
			for _, name := range []string{cluster.Rails.Secret.From, users.Password.From} {
				if v := s.Environment[name]; v != "${"+name+":?}" {
					t.Errorf("%s: %q is %q, and not taken from who starts it", r.Host, name, v)
				}
			}
		}
	}
	if servers != len(compose.Services)-1 {
		t.Errorf("%d servers in the cluster, %d services", servers, len(compose.Services))
	}
	for name, s := range compose.Services {
		if !strings.HasPrefix(s.Image, "clickhouse/clickhouse-") || !strings.HasSuffix(s.Image, ":26.7") || len(s.Volumes) == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		for _, v := range s.Volumes {
			file, _, _ := strings.Cut(v, ":")
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}

	// ClickHouse reads it, too. It gets no environment from us.
	values := strings.NewReplacer(`<shard from_env="SHARD"/>`, "<shard>2</shard>", `<replica from_env="REPLICA"/>`, "<replica>shard2-replica1</replica>")
	work := t.TempDir()
	more := filepath.Join(work, "run", "config.d")
	text, err := os.ReadFile(filepath.Join(dir, "cluster.xml"))
	err = errors.Join(err, os.MkdirAll(more, 0o700), os.WriteFile(filepath.Join(more, "cluster.xml"), []byte(values.Replace(string(text))), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	p := enginetest.Start(t, work, false).Endpoint()
	c, err := clickhouse.Open(&clickhouse.Options{
		Addr: []string{p.Addr}, Protocol: clickhouse.HTTP, Auth: clickhouse.Auth{Username: p.User, Password: p.Password},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const want = `{"hosts":["shard1-replica1","shard1-replica2","shard2-replica1","shard2-replica2"],"shard":"2","replica":"shard2-replica1"}`
	got := query(t, c, "SELECT groupArray(host_name) AS hosts, getMacro('shard') AS shard, getMacro('replica') AS replica "+
		"FROM (SELECT * FROM system.clusters WHERE cluster = 'rails' ORDER BY shard_num, replica_num)")
	if got != want {
		t.Errorf("ClickHouse makes of it %s", got)
	}
}
