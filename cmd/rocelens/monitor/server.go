package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/netutil"
)

// What a client may take.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 60 * time.Second
	idleTimeout  = 2 * time.Minute
	stopTimeout  = 5 * time.Second
	maxHeader    = 16 << 10 // bytes
	maxScrapes   = 8        // at a time
	maxClients   = 256      // connections; others wait
)

// server tells metrics and health over HTTP.
type server struct {
	http     http.Server
	listener net.Listener
	config   string
	log      *slog.Logger
	ended    chan error
}

// listen takes the address. why says why the monitor is not ready, "" where it
// is.
func listen(address, config string, reg *prometheus.Registry, why func() string, log *slog.Logger) (*server, error) {
	if _, err := hasTLS(config); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for Prometheus: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: reg, MaxRequestsInFlight: maxScrapes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError)}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "it runs") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if reason := why(); reason != "" {
			say(w, http.StatusServiceUnavailable, reason)
			return
		}
		say(w, http.StatusOK, "it captures")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, "rocelens monitor: /metrics, /healthz, /readyz")
	})
	return &server{
		http: http.Server{
			Handler: mux, ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
		listener: netutil.LimitListener(l, maxClients), config: config, log: log, ended: make(chan error, 1),
	}, nil
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // a client that went away needs no answer
}

// hasTLS checks a web configuration, and says whether it has TLS.
func hasTLS(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	var c struct {
		TLS *yaml.Node `yaml:"tls_server_config"`
	}
	err := web.Validate(path)
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			err = yaml.Unmarshal(text, &c)
		}
	}
	if err != nil {
		return false, fmt.Errorf("web configuration %s: %w", path, sentence{err})
	}
	return c.TLS != nil, nil
}

// sentence is an error of another package whose text has lines.
type sentence struct{ error }

func (s sentence) Error() string { return strings.Join(strings.Fields(s.error.Error()), " ") }
func (s sentence) Unwrap() error { return s.error }

// Is knows by its text what the other package does not wrap.
func (s sentence) Is(target error) bool {
	return target == fs.ErrPermission && strings.Contains(s.error.Error(), fs.ErrPermission.Error())
}

func (s *server) serve() {
	go func() {
		err := web.Serve(s.listener, &s.http, &web.FlagConfig{WebConfigFile: &s.config}, slog.New(slog.DiscardHandler))
		if !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("metrics are not served any more", "error", err)
		}
		s.ended <- err
	}()
}

// stop lets scrapes that run come to their end.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if e := <-s.ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
