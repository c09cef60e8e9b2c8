//go:build !linux

package main

import (
	"errors"
	"io"
)

func command([]string, io.Writer) error { return errors.New("it needs Linux") }
