// Package disktest gives tests small disks that they can fill. It needs Linux.
package disktest
