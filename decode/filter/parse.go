package filter

// Limits of what is taken as a filter. People write filters by hand, and lists
// of addresses come from scripts.
const (
	// MaxLen is how long a filter may be, in bytes: room for thousands of
	// addresses in a set.
	MaxLen = 1 << 16
	// maxDepth is how deep it may be nested. More is no one's filter, and
	// would only grow the stack.
	maxDepth = 200
)

// nodeKind is what a node of the syntax tree is.
type nodeKind uint8

const (
	nodeWord     nodeKind = iota // text: a field, a protocol or a literal
	nodeString                   // value
	nodeChar                     // value
	nodeSlice                    // kids[0], text
	nodeLayer                    // kids[0], text: ranges
	nodeRaw                      // @kids[0]
	nodeCall                     // text(kids...)
	nodeNegate                   // -kids[0]
	nodeBinary                   // kids[0] text kids[1]
	nodeRelation                 // quantifier kids[0] text kids[1]
	nodeIn                       // quantifier kids[0] in kids[1:], negated
	nodeRange                    // kids[0] .. kids[1], in a set
	nodeNot                      // !kids[0]
	nodeLogic                    // kids joined by text: && || ^^
)

type node struct {
	kind       nodeKind
	text       string
	value      string
	quantifier string // any, all, or ""
	negated    bool
	kids       []*node
	span
}

// logical says that the node is a test, not a value.
func (n *node) logical() bool { return n.kind >= nodeRelation && n.kind != nodeRange }

// parser makes a syntax tree of a filter.
type parser struct {
	lexer
	tok   token
	depth int
	err   *Error // the first
}

// failed carries an Error up to parse.
type failed struct{}

func (p *parser) failAt(s span, format string, args ...any) {
	panic(p.stop(p.fail(s, format, args...)))
}

func (p *parser) stop(err *Error) failed {
	p.err = err
	return failed{}
}

func (p *parser) advance() {
	t, err := p.next()
	if err != nil {
		panic(p.stop(err))
	}
	p.tok = t
}

// parse is the tree of a filter, nil for one that is empty.
func parse(expr string) (n *node, err *Error) {
	p := &parser{lexer: lexer{expr: expr}}
	if len(expr) > MaxLen {
		return nil, p.fail(span{MaxLen, MaxLen}, "the filter is longer than %d bytes", MaxLen)
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(failed); !ok {
				panic(r)
			}
			n, err = nil, p.err
		}
	}()
	p.advance()
	if p.tok.kind == tokEnd {
		return nil, nil
	}
	n = p.logic(0)
	if p.tok.kind != tokEnd {
		p.unexpected()
	}
	return n, nil
}

// unexpected complains of the token that is next.
func (p *parser) unexpected() {
	switch t := p.tok; {
	case t.kind == tokEnd:
		p.failAt(t.span, "something is missing at the end of the filter")
	case t.kind == tokWord || t.kind == tokString || t.kind == tokChar:
		p.failAt(t.span, "%s is not expected here: an operator is missing, or quotes around text with blanks", clip(t.text))
	case t.kind == tokRanges:
		p.failAt(t.span, "there is nothing here to take a part of")
	case t.text == "$":
		p.failAt(t.span, "${...} stands for a field of the packet that is selected in Wireshark's window, or for a macro: here there is neither, write the value")
	default:
		p.failAt(t.span, "%s is not expected here", t.text)
	}
}

func (p *parser) is(op string) bool { return p.tok.kind == tokOp && p.tok.text == op }

// take moves on if the next token is op.
func (p *parser) take(op string) bool {
	if !p.is(op) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) need(op string) {
	if !p.take(op) {
		if p.tok.kind == tokEnd {
			p.failAt(p.tok.span, "%s is missing at the end of the filter", op)
		}
		p.failAt(p.tok.span, "%s is expected ahead of this", op)
	}
}

// enter counts how deep the tree is.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failAt(p.tok.span, "the filter is nested deeper than %d levels", maxDepth)
	}
}

// logicOps are the logical operators from the loosest to the tightest.
var logicOps = [...]string{"||", "^^", "&&"}

func (p *parser) logic(level int) *node {
	if level == len(logicOps) {
		return p.not()
	}
	op := logicOps[level]
	n := p.logic(level + 1)
	if !p.is(op) {
		return n
	}
	all := &node{kind: nodeLogic, text: op, kids: []*node{n}, span: n.span}
	for p.take(op) {
		kid := p.logic(level + 1)
		all.kids = append(all.kids, kid)
		all.span = all.to(kid.span)
	}
	return all
}

func (p *parser) not() *node {
	if !p.is("!") {
		return p.relation()
	}
	start := p.tok.span
	p.enter()
	p.advance()
	n := p.not()
	p.depth--
	return &node{kind: nodeNot, kids: []*node{n}, span: start.to(n.span)}
}

var relations = map[string]bool{
	"==": true, "!=": true, "===": true, "!==": true, "<": true, ">": true, "<=": true, ">=": true,
	"contains": true, "matches": true,
}

// relation is a value alone, or one that is compared. a < b < c is a < b && b < c.
func (p *parser) relation() *node {
	start, quantifier := p.tok.span, ""
	for _, q := range []string{"any", "all"} {
		if p.take(q) {
			quantifier = q
			break
		}
	}
	left := p.bits()
	var all []*node
	for {
		switch op := p.tok; {
		case op.kind == tokOp && relations[op.text]:
			p.value(left)
			p.advance()
			right := p.value(p.bits())
			all = append(all, &node{kind: nodeRelation, text: op.text, quantifier: quantifier, kids: []*node{left, right}, span: start.to(right.span)})
			left = right
			continue
		case p.is("in"), p.is("!"):
			not := p.take("!")
			if !p.is("in") {
				p.unexpected()
			}
			if len(all) > 0 {
				p.failAt(p.tok.span, "in does not go behind another comparison: use and")
			}
			p.advance()
			return p.set(&node{kind: nodeIn, quantifier: quantifier, negated: not, kids: []*node{p.value(left)}, span: start})
		}
		break
	}
	switch {
	case len(all) == 0 && quantifier != "":
		p.failAt(start, "%s needs a comparison behind it, as in %s udp.port > 1024", quantifier, quantifier)
	case len(all) == 0:
		return left
	case len(all) == 1:
		return all[0]
	}
	return &node{kind: nodeLogic, text: "&&", kids: all, span: all[0].to(all[len(all)-1].span)}
}

// value refuses a test where a value is needed.
func (p *parser) value(n *node) *node {
	if n.logical() {
		p.failAt(n.span, "this is a test, and no value to compare with another")
	}
	return n
}

// set reads the set of in.
func (p *parser) set(n *node) *node {
	p.need("{")
	for {
		lo := p.value(p.bits())
		if p.take("..") {
			hi := p.value(p.bits())
			lo = &node{kind: nodeRange, kids: []*node{lo, hi}, span: lo.to(hi.span)}
		}
		n.kids = append(n.kids, lo)
		n.end = p.tok.end
		if p.take("}") {
			return n
		}
		p.need(",")
	}
}

func (p *parser) bits() *node { return p.binary(p.sum, "&") }

func (p *parser) sum() *node { return p.binary(p.product, "+", "-") }

func (p *parser) product() *node { return p.binary(p.negation, "*", "/", "%") }

// binary is what next gives, with any of ops between, from left to right.
func (p *parser) binary(next func() *node, ops ...string) *node {
	n := next()
	levels := 0
	for {
		op := ""
		for _, o := range ops {
			if p.is(o) {
				op = o
			}
		}
		if op == "" {
			p.depth -= levels
			return n
		}
		p.value(n)
		p.enter() // the tree leans to the left
		levels++
		p.advance()
		right := p.value(next())
		n = &node{kind: nodeBinary, text: op, kids: []*node{n, right}, span: n.to(right.span)}
	}
}

func (p *parser) negation() *node {
	start := p.tok.span
	if !p.is("-") && !p.is("+") {
		return p.primary()
	}
	minus := p.is("-")
	p.enter()
	p.advance()
	n := p.value(p.negation())
	p.depth--
	if !minus {
		return n
	}
	return &node{kind: nodeNegate, kids: []*node{n}, span: start.to(n.span)}
}

// primary is a field, a literal, a function, or what is in parentheses.
func (p *parser) primary() *node {
	t := p.tok
	p.enter()
	defer func() { p.depth-- }()
	n := &node{text: t.text, value: t.value, span: t.span}
	switch {
	case t.kind == tokWord:
		n.kind = nodeWord
		p.advance()
		if p.is("(") {
			p.call(n)
		}
	case t.kind == tokString:
		n.kind = nodeString
		p.advance()
	case t.kind == tokChar:
		n.kind = nodeChar
		p.advance()
	case p.take("("):
		n = p.logic(0)
		n.span = t.to(p.tok.span)
		p.need(")")
	case p.take("{"):
		n = p.value(p.bits())
		n.span = t.to(p.tok.span)
		p.need("}")
	case p.take("@"):
		of := p.value(p.primary())
		return &node{kind: nodeRaw, kids: []*node{of}, span: t.to(of.span)}
	default:
		p.unexpected()
	}
	return p.suffix(n)
}

// suffix reads what may stand behind a value: #2, [0:3].
func (p *parser) suffix(n *node) *node {
	depth := p.depth
	for {
		switch {
		case p.is("#"):
			p.value(n)
			p.advance()
			t := p.tok
			if t.kind != tokRanges && (t.kind != tokWord || t.spaced) {
				p.failAt(t.span, "a number or [ranges] is expected behind #, as in ip.addr#2")
			}
			n = &node{kind: nodeLayer, text: t.text, kids: []*node{n}, span: n.to(t.span)}
		case p.tok.kind == tokRanges:
			p.value(n)
			n = &node{kind: nodeSlice, text: p.tok.text, kids: []*node{n}, span: n.to(p.tok.span)}
		default:
			p.depth = depth
			return n
		}
		p.enter()
		p.advance()
	}
}

// call reads the arguments of a function.
func (p *parser) call(n *node) {
	n.kind = nodeCall
	p.need("(")
	for !p.is(")") {
		n.kids = append(n.kids, p.value(p.bits()))
		if !p.take(",") {
			break
		}
	}
	n.end = p.tok.end
	if !p.is(")") {
		p.need(")")
	}
	p.advance()
}
