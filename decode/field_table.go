package decode

import "sort"

// fieldTable is the table, built once and then only read.
type fieldTable struct {
	fields []*Field
	byName map[string]*Field
	layers [numLayerKinds]*layerTree
	// Of the frame itself:
	comments, frame, note *layerTree
}

var table = makeTable()

func makeTable() *fieldTable {
	t := &fieldTable{byName: map[string]*Field{}}
	t.comments = t.add(LayerNone, commentHeader)
	t.frame = t.add(LayerNone, frameHeader)
	for _, h := range headers {
		t.layers[h.kind] = t.add(h.kind, h)
	}
	t.note = t.add(LayerNone, noteHeader)
	return t
}

// headerRows is one header of the table as it is written down.
type headerRows struct {
	kind  LayerKind
	proto string // Wireshark's short name
	title string
	rows  []row
}

// row is one line of it: a field at a place. Only the first row of a name
// gives label, type, base and values.
type row struct {
	depth  uint8
	name   string
	label  string
	typ    FieldType
	base   FieldBase
	off, n int
	mask   uint64
	opt    rowOptions
}

type rowOptions struct {
	hidden bool
	byName bool // found by name alone, and not part of the tree
	ours   bool
	note   bool // read from Extra.Note
	values func(uint64) string
	title  func(p *Packet) string
	read   func(x *Extra, p *Packet, l Layer, v *Value) bool
	each   func(x *Extra, p *Packet, i int, v *Value) bool
}

func (t *fieldTable) add(kind LayerKind, h headerRows) *layerTree {
	tree := &layerTree{kind: kind, proto: h.proto, title: h.title}
	for _, r := range h.rows {
		f := t.byName[r.name]
		if f == nil {
			f = &Field{Name: r.name, Label: r.label, Type: r.typ, Base: r.base, Ours: r.opt.ours, OfNote: r.opt.note, Values: r.opt.values}
			if r.name != "" { // a group of fields has no name
				t.byName[r.name] = f
				t.fields = append(t.fields, f)
			}
		}
		pl := &place{layer: kind, depth: r.depth, hidden: r.opt.hidden, off: r.off, n: r.n, mask: r.mask, title: r.opt.title, read: r.opt.read, each: r.opt.each}
		f.places = append(f.places, pl)
		f.layers |= 1 << kind
		f.Repeats = f.Repeats || pl.each != nil || len(f.places) > 1 || repeats(kind)
		if !r.opt.byName {
			tree.fields = append(tree.fields, fieldAt{f, pl})
		}
	}
	return tree
}

// repeats says whether tunnels and tags can bring a header more than once. A
// packet has one set of transport headers.
func repeats(kind LayerKind) bool {
	return kind != LayerNone && kind < LayerMACControl
}

// FieldNames are all names, sorted.
func FieldNames() []string {
	names := make([]string, len(table.fields))
	for i, f := range table.fields {
		names[i] = f.Name
	}
	sort.Strings(names)
	return names
}
