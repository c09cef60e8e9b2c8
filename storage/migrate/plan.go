package migrate

import (
	"fmt"
	"strings"

	"github.com/rocelens/rocelens/storage/schema"
)

// planner collects statements.
type planner struct {
	cfg  *Config
	have *state
	plan []string
}

func (p *planner) add(statement string) { p.plan = append(p.plan, statement) }

// alter adds an ALTER TABLE of a table of the database.
func (p *planner) alter(name, what string) {
	p.add("ALTER TABLE " + schema.Quote(p.cfg.Database) + "." + schema.Quote(name) + p.cfg.OnCluster() + " " + what)
}

// table plans for one table: that which holds the rows, the Distributed one over
// it, and the view that fills it.
func (p *planner) table(t *schema.Table) error {
	o := &p.cfg.Options
	create := o.Create(t)
	local := o.LocalName(t)
	if have := p.have.tables[local]; have == nil {
		p.add(create[0])
	} else if err := p.local(t, have); err != nil {
		return err
	}
	if o.Cluster != "" {
		switch have := p.have.tables[t.Name]; {
		case have == nil:
			p.add(create[1])
		case have.engine != "Distributed":
			return fmt.Errorf("%s.%s is a table of a single server, and can't become one of cluster %s: use another database", o.Database, t.Name, o.Cluster)
		default:
			p.columns(t, t.Name, have, false)
		}
	}
	if t.From == nil {
		return nil
	}
	query := o.View(t)
	switch have := p.have.tables[t.ViewName()]; {
	case have == nil:
		p.add(create[len(create)-1])
	case have.comment != schema.ViewComment(query):
		p.alter(t.ViewName(), "MODIFY QUERY "+query)
		p.alter(t.ViewName(), "MODIFY COMMENT "+schema.Text(schema.ViewComment(query)))
	}
	return nil
}

// local plans for the table that holds the rows.
func (p *planner) local(t *schema.Table, have *table) error {
	o := &p.cfg.Options
	name := o.LocalName(t)
	engine, _, _ := strings.Cut(o.Engine(t), "(")
	for _, d := range []struct{ what, is, want string }{
		{"engine", have.engine, engine},
		{"sorting key", have.sorting, strings.Join(t.Order, ", ")},
		{"partition key", have.partition, t.Partition},
	} {
		if d.is != d.want {
			return fmt.Errorf("%s.%s has the %s %q, and rocelens needs %q, which can't be changed: use another database", o.Database, name, d.what, d.is, d.want)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if is, ok := have.columns[c.Name]; ok && is.typ != c.Type {
			return fmt.Errorf("%s.%s has column %s of type %s, and rocelens needs %s: use another database", o.Database, name, c.Name, is.typ, c.Type)
		}
	}
	p.columns(t, name, have, true)
	for _, x := range t.Indexes {
		if !have.indexes[x.Name] {
			p.alter(name, "ADD "+strings.Replace(x.Definition(), "INDEX ", "INDEX IF NOT EXISTS ", 1))
		}
	}
	if p.cfg.SetKeep[t.Keep] {
		p.keep(t, name, have)
	}
	for _, s := range o.Settings(t) {
		if !strings.Contains(have.full+",", s+",") {
			p.alter(name, "MODIFY SETTING "+s)
		}
	}
	return nil
}

// columns adds those that are missing. What is more, it leaves alone. In a table
// that holds rows it also corrects what may differ.
func (p *planner) columns(t *schema.Table, name string, have *table, holds bool) {
	after := " FIRST"
	for i := range t.Columns {
		c := &t.Columns[i]
		is, ok := have.columns[c.Name]
		switch {
		case !ok:
			p.alter(name, "ADD COLUMN IF NOT EXISTS "+c.Definition()+after)
		case holds && (is.codec != "CODEC("+c.Codec+")" || is.fallback != c.Default || is.comment != c.Doc):
			p.alter(name, "MODIFY COLUMN "+c.Definition())
		}
		after = " AFTER " + schema.Quote(c.Name)
	}
}

// keep plans for how long rows are kept.
func (p *planner) keep(t *schema.Table, name string, have *table) {
	_, is, _ := strings.Cut(have.full, " TTL ")
	is, _, _ = strings.Cut(is, " SETTINGS ")
	switch want := p.cfg.TTL(t); {
	case is == want:
	case want == "":
		p.alter(name, "REMOVE TTL")
	default:
		p.alter(name, "MODIFY TTL "+want)
	}
}

// comment plans for the comment of an existing table, which has the version.
func (p *planner) comment(t *schema.Table) {
	name := p.cfg.LocalName(t)
	if have := p.have.tables[name]; have != nil && have.comment != t.Comment() {
		p.alter(name, "MODIFY COMMENT "+schema.Text(t.Comment()))
	}
}
