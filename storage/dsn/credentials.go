package dsn

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// The environment variables with what the DSN leaves out.
const (
	UserEnv         = "ROCELENS_STORE_USER"
	PasswordEnv     = "ROCELENS_STORE_PASSWORD"
	PasswordFileEnv = "ROCELENS_STORE_PASSWORD_FILE"
)

// Credentials fills in user and password where the DSN has none: from the
// environment, and from files.
func (d *DSN) Credentials(env func(string) string) error {
	if d.Dir != "" {
		return nil
	}
	if d.User == "" {
		d.User = env(UserEnv)
	}
	if d.User == "" {
		d.User = "default"
	}
	if d.Password.Reveal() != "" {
		if d.PasswordFile != "" {
			return fmt.Errorf("the name of the store has both a password and password_file: use one of them")
		}
		return nil
	}
	file := d.PasswordFile
	if file == "" {
		if p := env(PasswordEnv); p != "" {
			d.Password = NewSecret(p)
			return nil
		}
		file = env(PasswordFileEnv)
	}
	if file == "" {
		return nil
	}
	p, err := ReadSecret(file)
	if err != nil {
		return fmt.Errorf("the store's password: %w", err)
	}
	d.Password = p
	return nil
}

// maxSecret is longer than any password or token.
const maxSecret = 4096

// ReadSecret is the one line of a file.
func ReadSecret(path string) (Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return Secret{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return Secret{}, err
	}
	s := strings.TrimRight(string(b), "\r\n")
	if len(b) > maxSecret || s == "" || strings.ContainsAny(s, "\r\n\x00") {
		return Secret{}, fmt.Errorf("%s must hold it as its only line", path)
	}
	return NewSecret(s), nil
}
