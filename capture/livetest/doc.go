// Package livetest gives tests networks of their own to capture from. It needs Linux.
package livetest
