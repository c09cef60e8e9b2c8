//go:build !linux

package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
)

const canLoad = false

var errSystem = errors.New("the embedded ClickHouse is not supported on " + runtime.GOOS +
	", only on linux: use a ClickHouse server")

func checkSystem() error { return errSystem }

func noExec(string) bool { return false }

func lockDir(context.Context, string, string) (*os.File, error) { return nil, errSystem }

func setProcess(*exec.Cmd) {}

func askToEnd(*os.Process) error { return errSystem }

func describeStop(error) (what string) { return "ended" }

func isAddrInUse(error) bool { return false }

func becomeClickHouse(string, string, bool) error { return errSystem }
