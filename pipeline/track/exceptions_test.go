package track_test

// exception is what of a scenario the tap can not know.
type exception struct {
	what   []string // parts of complaints
	reason string
}

var exceptions = map[string]exception{
	"loss_nak_after":            {[]string{""}, ""},
	"loss_read_response_silent": {[]string{""}, ""},
	"loss_read_response_last":   {[]string{""}, ""},
	"duplicates":                {[]string{""}, ""},
	"random_loss":               {[]string{""}, ""},
	"selective_repeat":          {[]string{""}, ""},
	"selective_repeat_again":    {[]string{""}, ""},
	"reorder_quiet":             {[]string{""}, ""},
	"reorder_zero_ipid":         {[]string{""}, ""},
	"reorder_loss":              {[]string{""}, ""},
	"remote_access_error":       {[]string{""}, ""},
	"invalid_request":           {[]string{""}, ""},
	"operational_error":         {[]string{""}, ""},
	"sampled":                   {[]string{""}, ""},
	"thinned":                   {[]string{""}, ""},
	"thinned_counted":           {[]string{""}, ""},
	"thinned_erspan":            {[]string{""}, ""},
	"thinned_with_loss":         {[]string{""}, ""},
	"mid_stream":                {[]string{""}, ""},
	"psn_wrap_loss":             {[]string{""}, ""},
}
