// Package writer takes records, puts them into batches by size and age, and sees
// that each batch is in the store exactly once.
//
// A batch is encoded once. From then on it is bytes with a token, in a Queue,
// until the store has acknowledged it: whatever fails is sent again as it was, and
// the store knows it by the token. What is lost in the end, because a queue is
// full or the store refuses it for good, is counted by table, logged, and written
// to the store as counters of the probe.
package writer
