// Package sender sends RoCE traffic on an interface at a steady rate, for
// measurements and long tests: RC SENDs and their ACKs, in some sessions, with
// right PSNs and ICRCs. It needs Linux.
package sender
