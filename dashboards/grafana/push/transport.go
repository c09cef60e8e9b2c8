package push

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rocelens/rocelens/storage/dsn"
)

// maxAnswer bounds an answer, unpacked. The largest board of ours has 60 KB; one that somebody
// changed, with its history, is not 100 times that.
const maxAnswer = 8 << 20

// transport is below the SDK and below our own calls. It adds the token, and lets
// through answers that are 2xx and JSON alone: of anything else it makes an *Error. The SDK
// takes some refusals for success, and one without a message brings it down.
type transport struct {
	base    *url.URL
	next    http.RoundTripper
	token   dsn.Secret
	timeout time.Duration
	agent   string
	log     func(line string)
	// secrets are others that no message must have: what is sent to Grafana.
	secrets []dsn.Secret
}

// RoundTrip is that of http.RoundTripper. The body that it returns is in memory.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	defer cancel()
	out := req.Clone(ctx)
	out.Header.Set("Accept", "application/json")
	out.Header.Set("User-Agent", t.agent)
	if t.token.Reveal() != "" {
		out.Header.Set("Authorization", "Bearer "+t.token.Reveal())
	}
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		t.tell(req, "no answer", start)
		return nil, t.noAnswer(req.Context(), ctx, err)
	}
	defer resp.Body.Close()
	t.tell(req, resp.Status, start)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, t.noAnswer(req.Context(), ctx, err)
	}
	if len(body) > maxAnswer {
		return nil, t.errorf(resp.StatusCode, "the answer of %s is longer than %d MiB: it is not one of Grafana's", t.base, maxAnswer>>20)
	}
	if e := t.judge(req, resp, body); e != nil {
		return nil, e
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// tell logs a request. Neither paths nor queries of ours have secrets.
func (t *transport) tell(req *http.Request, answer string, start time.Time) {
	if t.log != nil {
		t.log(fmt.Sprintf("%s %s: %s, %v", req.Method, req.URL.RequestURI(), t.show(answer), time.Since(start).Round(time.Millisecond)))
	}
}

// hide takes all secrets out of a text.
func (t *transport) hide(text string) string {
	for _, s := range append([]dsn.Secret{t.token}, t.secrets...) {
		text = s.HideIn(text)
	}
	return text
}

// path is that of a request, below where Grafana is.
func (t *transport) path(req *http.Request) string {
	return strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, t.base.Path), "/")
}
