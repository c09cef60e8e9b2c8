package alerts

import (
	"fmt"
	"io"
	"strings"
)

const preface = `# Alerts

<!-- Written by "go test ./dashboards/alerts -update" from the table in dashboards/alerts. Change it there. -->

Rules for what ` + "`rocelens monitor`" + ` tells [Prometheus](metrics.md): evaluated by Prometheus, or by Grafana. Each has a summary, a description
that says what to do, and a link to what it means (` + "`runbook_url`" + `). They need no histograms, so they say the same with
native histograms and without.

| severity | |
|---|---|
| critical | traffic is harmed, or nobody watches it: look now |
| warning | look today |
| info | it may be meant so: look once |

Where a rate or a share is meant, it is that of five minutes. "For" is how long it has to be so until the alert fires.
Alerts are told apart by the monitor (` + "`job`, `instance`" + `) and by what the table says: any number of monitors may be scraped, and several
jobs. Scrape once a minute or more often.

A counter that Prometheus sees for the first time has not risen for it, whatever it is by then. Counts of drops and lost
files are there, as 0, before the first one, and of storms it is told when there was one last. Those of flows come with the
first packets of an interface, priority and version: what happens within the first scrape of a new one counts for no alert.

`

const rest = `
## In Prometheus

    rocelens dashboards export /etc/rocelens/grafana
    promtool check rules /etc/rocelens/grafana/alerts/` + PrometheusFile + `

and in prometheus.yml

    rule_files: [/etc/rocelens/grafana/alerts/` + PrometheusFile + `]

The file is also in [dashboards/alerts/rules](../dashboards/alerts/rules/` + PrometheusFile + `). The job of the monitors should have
` + "`rocelens`" + ` in its name: a monitor that never answered is known by that alone. Who is told is for Alertmanager to say, by the label
` + "`severity`" + `. The compose file in [deploy/docker](running.md) has these rules loaded.

## In Grafana

    ln -s /etc/rocelens/grafana/alerts/` + GrafanaFile + ` /etc/grafana/provisioning/alerting/

Grafana 11 or newer then evaluates the same alerts by itself, from the Prometheus of the boards (` + "`" + DatasourceUID + "`" + `), in the folder "` + Folder + `", each linked to the
panel that shows it. They need no rules in Prometheus. Notification policies can take the label ` + "`severity`" + `. Take one of
the two, or everybody is told twice.

## Other thresholds

Each alert ends with its threshold: in Prometheus the last number of ` + "`expr`" + `, in Grafana ` + "`params`" + ` of the expression B. Copy the
file, change the number, and load the copy: an export writes the original again. To leave an alert out, take its rule out
of the copy, or in Grafana say ` + "`isPaused: true`" + `. On a network without DCQCN, leave out RocelensMarksWithoutCNPs.

In the sources, the table is in [dashboards/alerts](../dashboards/alerts), and ` + "`go test ./dashboards/alerts -update`" + ` writes the rules and this page.
The tests run the rules in Prometheus's own tool, each alert in a case where it fires and in one just below its threshold, and in
a real Prometheus that scrapes simulated traffic. They do not run Grafana.
`

// Markdown writes docs/alerts.md.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(preface)
	for _, g := range Groups() {
		fmt.Fprintf(&b, "## The group %s\n\n| alert | severity | fires when | for | why so |\n|---|---|---|---|---|\n", g.Name)
		for i := range g.Alerts {
			a := &g.Alerts[i]
			wait := "at once"
			if a.For > 0 {
				wait = duration(a.For)
			}
			fmt.Fprintf(&b, "| [%s](%s) | %s | %s | %s | %s |\n", a.Name, a.Runbook, a.Severity, a.When, wait, a.Why)
		}
		b.WriteString("\nRecorded series, which are there for boards of your own too:\n\n| series | |\n|---|---|\n")
		for _, r := range g.Recordings {
			fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, r.About)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n")+rest)
	return err
}
