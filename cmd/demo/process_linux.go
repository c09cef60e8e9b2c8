package main

import "syscall"

// ours lets a process end with the thread that starts it, and keeps the signals of a
// terminal from it: a Ctrl-C is for us, who then stop it.
func ours() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
