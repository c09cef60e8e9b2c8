// Package schema is the one description of the tables of the store. From it
// come the statements that make the tables, the columns of an insert, filled
// from records, and docs/schema.md.
//
// A table has its columns in Go, each with its type, its codec, its meaning and
// the function that takes it from a record; see docs/adr/0012. A column can't be
// in one of the three and missing in another.
package schema
