package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/cmd/rocelens/config"
)

// monitorFlags are options of the monitor with their flags.
func monitorFlags() (*monitorOptions, *pflag.FlagSet) {
	o := new(monitorOptions)
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addFlags(f)
	return o, f
}

const exampleHead = `Configuration of rocelens monitor, with all keys and what they are without this file:

    rocelens monitor --config /etc/rocelens.yml

Each key is the flag of the same name, and the command line comes first. Keys behind a # have no
value of their own. One in [] may have a list of values. "rocelens monitor --config FILE --check"
says whether the file is right, and SIGHUP has it read again. Written by
"go test ./cmd/rocelens -run TestMonitorExample -update".`

// TestMonitorExample: the example has each flag as a key, and says what is without
// it: to load it changes nothing.
func TestMonitorExample(t *testing.T) {
	defaults, flags := monitorFlags()
	var b bytes.Buffer
	if err := config.Example(&b, flags, exampleHead); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(capturetest.Root(t), "deploy", "rocelens.yml")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(text), b.String()); d != "" {
		t.Errorf("%s is not what the flags say; -update writes it:\n%s", path, d)
	}
	loaded, flags := monitorFlags()
	file, err := config.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Apply(flags); err != nil {
		t.Fatal(err)
	}
	defaults.flags, loaded.flags = nil, nil
	defaults.cfg.Log, loaded.cfg.Log = nil, nil
	if !reflect.DeepEqual(defaults, loaded) {
		t.Errorf("the example changes %+v to %+v", defaults, loaded)
	}
	set := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			set++
		}
		if has := strings.Contains(b.String(), "\n"+f.Name+": ") || strings.Contains(b.String(), "\n# "+f.Name+": "); has != config.IsKey(f) {
			t.Errorf("--%s is in the example: %v", f.Name, has)
		}
	})
	if set < 10 {
		t.Errorf("the example sets %d flags", set)
	}
}

// TestMonitorKeys: each flag is a key, one that may be repeated has a list, and
// the words of the help are what the keys take.
func TestMonitorKeys(t *testing.T) {
	values := map[string]string{
		"interface": "[eth0, eth1]", "read": "[/ring, a.pcap]", "no-promiscuous": "true", "buffer": "256M", "snaplen": "128", "hardware-time": "true", "listen": ":9797", "web-config": "web.yml",
		"store": "embedded:/tmp/x", "probe": "leaf-1", "spool": "/tmp/x/spool", "spool-size": "2G", "interval": "10s", "roce-port": "[4792, 4793]", "max-memory": "2147483648",
		"ack-timeout": "67ms", "link-speed": "[100G, eth0=25G]", "dscp-map": "[26=3, 48=6]", "storm-share": "0.8", "storm-window": "300ms", "workers": "3", "log-level": "debug", "log-format": "json",
		"record": "/tmp/evidence", "record-level": "critical", "record-disk": "5G", "record-memory": "64M", "record-span": "30s", "record-snaplen": "0",
	}
	_, flags := monitorFlags()
	flags.VisitAll(func(f *pflag.Flag) {
		value, known := values[f.Name]
		if !config.IsKey(f) {
			if known || f.Name != "config" && f.Name != "check" {
				t.Errorf("--%s is no key", f.Name)
			}
			return
		}
		if !known {
			t.Errorf("--%s is a key of which this test knows no value", f.Name)
			return
		}
		if repeats := strings.Contains(f.Usage, "(may be repeated)"); repeats != config.Repeats(f) {
			t.Errorf("--%s may be repeated: %v", f.Name, repeats)
		}
		if what, _ := pflag.UnquoteUsage(f); f.Value.Type() != "bool" && what != strings.ToUpper(what) {
			t.Errorf("--%s takes a %q", f.Name, what)
		}
		o, given := monitorFlags()
		if err := apply(t, f.Name+": "+value+"\n", given); err != nil {
			t.Error(err)
		}
		fresh, _ := monitorFlags()
		fresh.flags, o.flags = nil, nil
		if reflect.DeepEqual(o, fresh) {
			t.Errorf("%s: %s changes nothing", f.Name, value)
		}
		delete(values, f.Name)
	})
	for name := range values {
		t.Errorf("there is no flag --%s", name)
	}
	for _, name := range reloadable {
		if flags.Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}

func apply(t *testing.T, text string, flags *pflag.FlagSet) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rocelens.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Read(path)
	if err != nil {
		return err
	}
	return file.Apply(flags)
}

// TestMonitorReload: what a file says anew is behind the command line still.
func TestMonitorReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rocelens.yml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("interface: [eth0, eth1]\nlog-level: debug\ninterval: 2s\nroce-port: 5000\n")
	o, flags := monitorFlags()
	if err := flags.Parse([]string{"--config", path, "--interval", "5s", "--link-speed", "eth0=10G", "--store", "none"}); err != nil {
		t.Fatal(err)
	}
	if err := o.configure(); err != nil {
		t.Fatal(err)
	}
	write("interface: eth0\nlog-format: json\ninterval: 3s\nroce-port: [5000, 5001]\nlink-speed: 40G\n")
	n, err := o.anew()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"interface", "interval", "link-speed", "log-format", "log-level", "roce-port"}
	if d := cmp.Diff(want, o.file.Changed(n.file)); d != "" {
		t.Error(d)
	}
	if n.interval != o.interval || n.logLevel != 0 || n.logFormat != "json" || o.logLevel == 0 || len(n.cfg.Live.Interfaces) != 1 || len(n.rocePorts) != 2 || len(o.rocePorts) != 1 ||
		n.pause.speeds.All != 0 || n.pause.speeds.ByName["eth0"] == 0 {
		t.Errorf("%+v", n)
	}
	write("interval: 1s\ninterface: eth0\nlog-level: loud\n")
	if _, err := o.anew(); err == nil || !strings.Contains(err.Error(), `:3: log-level: "loud" is no level of a log`) {
		t.Error(err)
	}
}

// TestMonitorRefuses: what is wrong is said in one sentence, with exit code 1, and
// without passwords.
func TestMonitorRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		t.Helper()
		f, err := os.CreateTemp(dir, "*.yml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
		return f.Name()
	}
	t.Setenv("STATE_DIRECTORY", filepath.Join(dir, "state"))
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "rocelens: monitor needs an interface, as in rocelens monitor -i eth0"},
		{[]string{"--config", file("listen: :1\n")}, ": monitor needs an interface, as in \"interface: eth0\""},
		{[]string{"--config", filepath.Join(dir, "none")}, "rocelens: the configuration: open " + dir},
		{[]string{"--config", file("interface: eth0\nstor: http://u:secret@h\n")}, ".yml:2: there is no key stor: did you mean store?"},
		{[]string{"--config", file("interface: eth0\nstore: [\"http://u:secret@h\"]\n")}, ".yml:2: store takes one value, and not a list"},
		{[]string{"--config", file("interface: eth0\nstore: http://u:secret@h:9000:1\n")}, "rocelens: the store's host: use HOST"},
		{[]string{"--config", file("interface: eth0\nstore: *secret\n")}, "put it in quotes"},
		{[]string{"--config", file("interface: eth0\ninterval: 1ms\n")}, "--interval 1ms: use 10ms or more"},
		{[]string{"-i", "eth0", "--store", "none", "--spool", "x"}, "--spool is of no use without a store, and there is none: --store none says so"},
		{[]string{"--config", file("interface: eth0\nstore: none\nspool-size: 2G\n")}, "--spool-size is of no use without a store"},
		{[]string{"-i", "eth0", "--store", "none", "--listen", "9797"}, "listening for Prometheus: address 9797: missing port"},
		{[]string{"-i", "eth0", "--store", "none", "--web-config", filepath.Join(dir, "no")}, "web configuration " + dir},
		{[]string{"-i", "eth0", "--store", "none", "--check", "-i", "eth0"}, "interface eth0 is named twice"},
		{[]string{"-i", "nosuch0", "--store", "none", "--check"}, "interface nosuch0: there is none of that name"},
		{[]string{"-i", "eth0", "--store", "none", "--web-config", file("tls_server_config: [1]\nuser: secret\n")}, "cannot unmarshal !!seq into web.TLSConfig line 2: field user not found"},
		{[]string{"-i", "eth0", "--store", "none", "--snaplen", "5"}, "a snaplen of 5 bytes: no header of RoCE fits in, use 54 or more"},
		{[]string{"-i", "eth0", "--store", "none", "--link-speed", "eth1=10G"}, "--link-speed eth1=...: eth1 is not captured on"},
		{[]string{"-i", "eth0", "--store", "none", "--record-level", "critical"}, "--record-level is of no use without --record DIR"},
		{[]string{"--config", file("interface: eth0\nstore: none\nrecord-disk: 2G\n")}, "--record-disk is of no use without --record DIR"},
		{[]string{"-i", "eth0", "--store", "none", "--record", file("")}, ".yml is a file"},
		{[]string{"-i", "eth0", "--store", "none", "--record", dir, "--record-span", "-1s"}, "recordings of the last -1s: use a time that is positive"},
		{[]string{"-i", "eth0", "--store", "none", "--record", dir, "--record-snaplen", "20"}, "recordings with a snaplen of 20 bytes: no header of RoCE fits in"},
		{[]string{"-i", "eth0", "--store", "none", "--buffer", "4G"}, "4G is no size of a ring: use 4M to 2G, as in 256M"},
		{[]string{"-i", "eth0", "--store", "none", "--buffer", "1M"}, "1M is no size of a ring: use 4M to 2G, as in 256M"},
		{[]string{"-r", filepath.Join(dir, "none"), "--store", "none"}, "none: no such file or directory"},
		{[]string{"-r", file("no capture"), "--store", "none"}, "not a pcap, pcapng or ERF capture"},
		{[]string{"-r", os.DevNull, "--store", "none"}, "is neither a file nor a directory nor a pipe"},
		{[]string{"-r", dir, "--store", "none", "--snaplen", "128"}, "--snaplen is of no use with files"},
		{[]string{"-r", dir, "--store", "http://u@h/d", "--spool", filepath.Join(dir, "none", "s")}, "the directory of the spool: "},
		{[]string{"-r", dir, "--store", "http://u@h/d", "--spool", file("no spool")}, ".yml is no spool: name another file"},
		{[]string{"eth0"}, "name interfaces with -i, as in -i eth0"},
	} {
		for _, check := range []string{"--check=false", "--check"} {
			var out, errOut bytes.Buffer
			code := run(context.Background(), append([]string{"monitor", check}, tc.args...), nil, &out, &errOut)
			if said := errOut.String(); code != exitFailed || !strings.Contains(said, tc.want) || strings.Count(said, "\n") != 1 || strings.Contains(said+out.String(), "secret") {
				t.Errorf("%v %s: exit code %d, %s%s", tc.args, check, code, out.String(), said)
			}
		}
	}
}
