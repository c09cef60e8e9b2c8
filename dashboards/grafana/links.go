package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// findingsDoc says what findings mean and what to do.
const findingsDoc = "https://github.com/rocelens/rocelens/blob/main/docs/findings.md"

// as is what links to boards have in common: the time and what is chosen stay. Variables that the
// other board does not have are nothing to it. What a link chooses itself comes behind it.
const as = "?${__url_time_range}&${__all_variables}"

type link = cog.Builder[dashboard.DashboardLink]

// toSession leads from a row to the session board, by what a field of the row
// has: the id of a session, or the number of a flow.
func toSession(field string) []link {
	return []link{dashboard.NewDashboardLinkBuilder("Session of this row").
		Url("/d/" + uidSession + as + "&var-find=${__data.fields." + field + ":percentencode}")}
}

// toFinding adds the description of the finding in the row.
func toFinding(links []link) []link {
	return append(links, dashboard.NewDashboardLinkBuilder("What ${__data.fields.code} means").
		Url(findingsDoc+"#${__data.fields.code}").TargetBlank(true))
}

// toBoard leads from anywhere in a panel to another board.
func toBoard(title, uid string) []link {
	return []link{dashboard.NewDashboardLinkBuilder(title).Url("/d/" + uid + as)}
}

// otherBoards is the menu of all boards, at the top of each.
func otherBoards() link {
	return dashboard.NewDashboardLinkBuilder("RoCE boards").Type(dashboard.DashboardLinkTypeDashboards).
		Icon("external link").Tags([]string{tag}).AsDropdown(true).IncludeVars(true).KeepTime(true)
}
