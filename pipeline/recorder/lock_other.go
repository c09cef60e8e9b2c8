//go:build !unix

package recorder

import "os"

// lock does nothing: directories have no locks here.
func lock(string) (*os.File, error) { return nil, nil }
