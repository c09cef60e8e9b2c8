package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/pipeline/words"
	"github.com/rocelens/rocelens/storage/dsn"
)

// say says what there is to see, and how.
func (o *options) say(s *store, sh *shown, metrics string) error {
	dir, err := filepath.Abs(o.path("grafana"))
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(s.engine.Endpoint().URL(), "/")
	name = strings.Replace(name, "http://", "http://"+s.engine.Endpoint().User+"@", 1) + "/" + s.name.Database
	state, shell := "in ClickHouse, which answers at "+name+".", "in another shell"
	if o.once {
		state = fmt.Sprintf("in the store %[1]s. Its ClickHouse stops now, with the demo. What follows\nneeds it: let it run in another shell, with\n\n    bin/rocelens store serve --listen %[2]s %[1]s\n",
			words.Shell("embedded:"+o.path("store")), words.Shell(s.engine.Endpoint().Addr))
		shell = "in this one"
	}
	_, err = fmt.Fprintf(o.out, `
%[1]d captures with %[2]d frames are %[17]s
They are also in %[4]s. User and password, for all that follows:

    export %[5]s=rocelens %[6]s="$(awk '{print $6}' <%[7]s)"

Without Grafana, %[18]s:

    bin/rocelens store status %[3]s
    bin/rocelens store query %[3]s findings
    bin/rocelens store query %[3]s flows --by lost
    bin/rocelens store query %[3]s flows --by pause
    bin/rocelens store query %[3]s storms
    bin/rocelens store query %[3]s lag
    bin/rocelens store query %[3]s session --addr 10.10.0.1

With a Grafana (%[8]s or newer, with the plugin grafana-clickhouse-datasource %[9]s or newer) on this machine, start it with

    GF_PATHS_PROVISIONING=%[10]s

in its environment, or in a container:

    docker run --rm --network host -v %[19]s -e GF_PATHS_PROVISIONING=%[10]s \
      -e %[5]s -e %[6]s -e GF_PLUGINS_PREINSTALL=grafana-clickhouse-datasource grafana/grafana

and open the overview (a new Grafana lets admin in with the password admin); the menu at its top leads to the
other boards. The captures are from %[11]s to %[12]s (%[13]s):

    http://localhost:3000/d/%[14]s?from=%[15]d&to=now

%[16]s
How to read the boards: docs/dashboards.md.
`, len(sh.lengths), sh.frames, words.Shell(name), o.path("captures"), dsn.UserEnv, dsn.PasswordEnv, words.Shell(s.engine.CredentialsFile()),
		grafana.GrafanaVersion, grafana.PluginVersion, words.Shell(filepath.Join(dir, "provisioning")), sh.from.Format("15:04"), sh.to.Format("15:04"), zone(sh.from),
		grafana.OverviewUID, sh.from.UnixMilli(), metrics, state, shell, words.Shell(dir+":"+dir+":ro"))
	return err
}

func zone(t time.Time) string {
	name, _ := t.Zone()
	return name
}
