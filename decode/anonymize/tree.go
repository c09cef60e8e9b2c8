package anonymize

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// tree is a keyed permutation of numbers of up to 16 bytes that preserves
// prefixes: two numbers have as many leading bits in common after it as before,
// and no more. It is the idea of Crypto-PAn (Xu, Fan, Ammar and Moon, 2002): a
// pseudo-random function of the bits before a bit says whether the bit is
// flipped. Here one block of AES gives that function for all prefixes that end
// in the same byte, which are the nodes of a binary tree of 255.
type tree struct {
	block   cipher.Block
	in, out [aes.BlockSize]byte // here and not on the stack, where a call through an interface allocates them
}

// The trees, one for each kind of number, so that nothing can be learnt of one
// from another. The names are part of what a key gives.
var treeNames = [numTrees]string{"ipv4", "ipv6", "mac", "lid", "qpn", "rkey", "qkey", "cm", "tid", "va", "icrc"}

const (
	treeIPv4 = iota
	treeIPv6
	treeMAC
	treeLID
	treeQPN
	treeRKey
	treeQKey
	treeCM
	treeTID
	treeVA
	treeICRC
	numTrees
)

func newTree(key []byte, name string) (*tree, error) {
	const keyLen = 32
	k, err := hkdf.Key(sha256.New, key, nil, "rocelens anonymize 1 "+name, keyLen)
	if err != nil {
		return nil, fmt.Errorf("can't derive a key: %w", err)
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		return nil, fmt.Errorf("can't derive a key: %w", err)
	}
	return &tree{block: block}, nil
}

// flips says which bits of b are flipped, the bytes before it being prefix: at
// most 15.
func (t *tree) flips(prefix []byte, b byte) byte {
	const last = aes.BlockSize - 1
	clear(t.in[copy(t.in[:last], prefix):])
	t.in[last] = byte(len(prefix) << 1)
	t.block.Encrypt(t.out[:], t.in[:])
	// The root is node 1, and below node n are 2n and 2n+1. Nodes up to 127, of
	// the upper seven bits, are bits of the first block.
	node, flips := 1, byte(0)
	for bit := 7; bit > 0; bit-- {
		flips |= t.out[node>>3] >> (node & 7) & 1 << bit
		node = node<<1 | int(b>>bit&1)
	}
	t.in[last] |= 1
	t.block.Encrypt(t.out[:], t.in[:])
	node -= 1 << 7
	return flips | t.out[node>>3]>>(node&7)&1
}

// number maps a number of n bytes, at most 8. The bits that are set in keep
// stay.
func (t *tree) number(v uint64, n int, keep uint64) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v<<(8*(8-n)))
	var flips uint64
	for i := range n {
		flips = flips<<8 | uint64(t.flips(b[:i], b[i]))
	}
	return v ^ flips&^keep
}

// random is a pseudo-random number for v.
func (t *tree) random(v uint64) uint64 {
	clear(t.in[:])
	binary.BigEndian.PutUint64(t.in[:], v)
	t.block.Encrypt(t.out[:], t.in[:])
	return binary.BigEndian.Uint64(t.out[:])
}
