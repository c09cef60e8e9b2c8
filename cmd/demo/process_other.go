//go:build !linux

package main

import "syscall"

// ours is for Linux, where alone there is an embedded ClickHouse.
func ours() *syscall.SysProcAttr { return nil }
