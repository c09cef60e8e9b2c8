package alerts

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/alerting"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/expr"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// provisioned and those below are what Grafana's file provisioning reads. The SDK
// has the rules of the HTTP API, which name folder and group in each rule; queries
// are the same in both.
type provisioned struct {
	APIVersion int                `yaml:"apiVersion"`
	Groups     []provisionedGroup `yaml:"groups"`
}

type provisionedGroup struct {
	OrgID    int               `yaml:"orgId"`
	Name     string            `yaml:"name"`
	Folder   string            `yaml:"folder"`
	Interval string            `yaml:"interval"`
	Rules    []provisionedRule `yaml:"rules"`
}

type provisionedRule struct {
	UID          string                    `yaml:"uid"`
	Title        string                    `yaml:"title"`
	Condition    string                    `yaml:"condition"`
	Data         []any                     `yaml:"data"`
	DashboardUID string                    `yaml:"dashboardUid"`
	PanelID      int                       `yaml:"panelId"`
	NoDataState  alerting.RuleNoDataState  `yaml:"noDataState"`
	ExecErrState alerting.RuleExecErrState `yaml:"execErrState"`
	For          string                    `yaml:"for"`
	Annotations  map[string]string         `yaml:"annotations"`
	Labels       map[string]string         `yaml:"labels"`
}

// What the queries of a rule are called, and Grafana's own source, of expressions.
const (
	refValue    = "A"
	refBeyond   = "B"
	expressions = "__expr__"
)

// window is which time Grafana thinks the queries are about, in seconds. They are
// instant, and say themselves how far back they look.
const window alerting.Duration = 600

// MakeGrafana makes the rules as Grafana's file provisioning reads them.
func MakeGrafana() ([]byte, error) {
	f := provisioned{APIVersion: 1}
	for _, g := range Groups() {
		out := provisionedGroup{OrgID: 1, Name: g.Name, Folder: Folder, Interval: duration(interval)}
		for i := range g.Alerts {
			r, err := g.provisioned(&g.Alerts[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g.Alerts[i].Name, err)
			}
			out.Rules = append(out.Rules, r)
		}
		f.Groups = append(f.Groups, out)
	}
	return marshal("Rules for what rocelens monitor tells that Grafana evaluates: see docs/alerts.md.", &f)
}

// provisioned is an alert of Grafana's: a query for the value, and an expression
// that compares it, where the threshold can be changed by itself. No value is as it
// should be: a value that can't be asked for is not.
func (g *Group) provisioned(a *Alert) (provisionedRule, error) {
	annotations := a.annotations()
	for key, text := range annotations { // Prometheus has one value, Grafana one for each query
		annotations[key] = strings.ReplaceAll(text, "$value", "$values."+refValue+".Value")
	}
	sign := expr.ExprTypeThresholdConditionsEvaluatorTypeGt
	if a.Below {
		sign = expr.ExprTypeThresholdConditionsEvaluatorTypeLt
	}
	queries := []*alerting.QueryBuilder{
		alerting.NewQueryBuilder(refValue).DatasourceUid(DatasourceUID).RelativeTimeRange(window, 0).Model(
			prometheus.NewDataqueryBuilder().RefId(refValue).Datasource(source("prometheus", DatasourceUID)).
				Expr(g.inlined(a.compared())).Instant().EditorMode(prometheus.QueryEditorModeCode)),
		alerting.NewQueryBuilder(refBeyond).DatasourceUid(expressions).RelativeTimeRange(window, 0).Model(
			expr.NewTypeMathOrTypeReduceOrTypeResampleOrTypeClassicConditionsOrTypeThresholdOrTypeSqlBuilder().TypeThreshold(
				expr.NewTypeThresholdBuilder().RefId(refBeyond).Datasource(source(expressions, expressions)).Expression(refValue).
					Conditions([]cog.Builder[expr.ExprTypeThresholdConditions]{
						expr.NewExprTypeThresholdConditionsBuilder().Evaluator(
							expr.NewExprTypeThresholdConditionsEvaluatorBuilder().Type(sign).Params([]float64{a.Threshold})),
					}))),
	}
	r := provisionedRule{
		UID: "rocelens-" + a.ID, Title: a.Name, Condition: refBeyond, DashboardUID: a.Board, PanelID: a.Panel,
		NoDataState: alerting.RuleNoDataStateOK, ExecErrState: alerting.RuleExecErrStateError, For: duration(a.For),
		Annotations: annotations, Labels: map[string]string{"severity": a.Severity},
	}
	for _, b := range queries {
		q, err := b.Build()
		if err != nil {
			return r, err
		}
		plain, err := untyped(q)
		if err != nil {
			return r, err
		}
		r.Data = append(r.Data, plain)
	}
	return r, nil
}

func source(kind, uid string) common.DataSourceRef {
	return common.DataSourceRef{Type: &kind, Uid: &uid}
}

// untyped is a value of the SDK, which knows its names in JSON alone, as maps.
func untyped(what any) (out any, err error) {
	data, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(data, &out)
	return out, err
}
