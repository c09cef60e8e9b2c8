package monitor

import (
	"fmt"

	"golang.org/x/net/bpf"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/storage/schema"
)

// openSource opens the interfaces, or the files that are followed.
func openSource(cfg *Config) (capture.Source, error) {
	if len(cfg.Follow.Paths) > 0 {
		cfg.Follow.Log = cfg.Log
		return capture.OpenFollow(cfg.Follow)
	}
	filter, err := kernelFilter(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Live.Filter, cfg.Live.Log = filter, cfg.Log
	return capture.OpenLive(cfg.Live)
}

// checkSource says what is wrong with what is to be opened, as far as that can be
// said without opening it.
func checkSource(cfg *Config) error {
	if len(cfg.Follow.Paths) > 0 {
		return cfg.Follow.Check()
	}
	if err := cfg.Live.Check(); err != nil {
		return err
	}
	if cfg.SnapLen != 0 && cfg.SnapLen < decode.MinSnapLen {
		return fmt.Errorf("a snaplen of %d bytes: no header of RoCE fits in, use %d or more, or 0 for all", cfg.SnapLen, decode.MinSnapLen)
	}
	_, err := kernelFilter(cfg)
	return err
}

// look says what is wrong with what is to be opened, as it is at the moment.
func look(cfg *Config) error {
	if len(cfg.Follow.Paths) > 0 {
		return cfg.Follow.Look()
	}
	return cfg.Live.Look()
}

func kernelFilter(cfg *Config) ([]bpf.RawInstruction, error) {
	filter, err := decode.KernelFilter(cfg.Pipeline.Decode, cfg.SnapLen)
	if err != nil {
		return nil, fmt.Errorf("the kernel's filter: %w", err)
	}
	return filter, nil
}

// origins are where records come from. What interfaces are in files is not known
// before they are read.
func origins(cfg *Config) []schema.Input {
	var all []schema.Input
	for _, path := range cfg.Follow.Paths {
		all = append(all, schema.Input{Tap: path})
	}
	if len(all) > 0 {
		return all
	}
	for _, name := range cfg.Live.Interfaces {
		all = append(all, schema.Input{Tap: name, Interfaces: []string{name}})
	}
	return all
}
