package client

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/rocelens/rocelens/storage/dsn"
)

// The oldest ClickHouse that is used: the one that the tests run on, as with the
// embedded one.
const (
	minMajor = 26
	minMinor = 7
)

// VersionError says that a server is too old.
type VersionError struct {
	Version string // "" where it did not even say
}

func (e *VersionError) Error() string {
	v := "this one"
	if e.Version != "" {
		v = "this one is " + e.Version + ", which"
	}
	return fmt.Sprintf("rocelens needs ClickHouse %d.%d or newer: %s is too old. Upgrade it, or use embedded:DIR", minMajor, minMinor, v)
}

// checkVersion asks the server for its version.
func (c *Client) checkVersion(ctx context.Context) error {
	v, err := c.conn.ServerVersion()
	if err != nil {
		if errors.Is(err, clickhouse.ErrUnsupportedServerRevision) || strings.Contains(err.Error(), "displayName") {
			// What 18.16 has no notion of.
			return &VersionError{}
		}
		return c.explain(err)
	}
	if v.Version.Major < minMajor || v.Version.Major == minMajor && v.Version.Minor < minMinor {
		return &VersionError{Version: strconv.FormatUint(v.Version.Major, 10) + "." + strconv.FormatUint(v.Version.Minor, 10)}
	}
	return c.explain(c.conn.Ping(ctx))
}

// Error is what a server or the way to it said, without the password.
type Error struct {
	msg string
	err error
}

func (e *Error) Error() string { return e.msg }

// Unwrap is the error of clickhouse-go. Only its type and codes are to be looked
// at, for its text may have what is not to be shown.
func (e *Error) Unwrap() error { return e.err }

// Refused says that the same would fail again, whatever becomes of the server.
func (e *Error) Refused() bool {
	var ex *clickhouse.Exception
	return errors.Is(e.err, errBlock) || errors.As(e.err, &ex) && (ex.Code == codeIncorrectData || ex.Code == codeCannotRead)
}

// NotAllowed says that the server does not take this user with this password.
func (e *Error) NotAllowed() bool {
	var ex *clickhouse.Exception
	return errors.As(e.err, &ex) && authFailed(ex.Code)
}

// errBlock says that a block is damaged, or not one of its table.
var errBlock = errors.New("not a batch of this table")

// hide takes the password out of a text, as HTTP has it too.
func (c *Client) hide(text string) string {
	p := c.cfg.Password
	if p.Reveal() == "" {
		return text
	}
	text = dsn.NewSecret(base64.StdEncoding.EncodeToString([]byte(c.cfg.User + ":" + p.Reveal()))).HideIn(text)
	return p.HideIn(text)
}

// explain takes the password out of an error.
func (c *Client) explain(err error) error {
	if err == nil {
		return nil
	}
	msg := c.hide(err.Error())
	var ex *clickhouse.Exception
	var op *net.OpError
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	hosts := strings.Join(c.cfg.Addrs, ", ")
	switch {
	case errors.As(err, &untrusted):
		msg = fmt.Sprintf("the store at %s is not trusted: %v (option ca=FILE names certificates to trust)", hosts, untrusted.Err)
	// net/http has no type for it.
	case errors.As(err, &record), strings.Contains(msg, "server gave HTTP response to HTTPS client"):
		msg = fmt.Sprintf("the store at %s does not speak TLS", hosts)
	case errors.As(err, &op) && op.Op == "dial":
		msg = fmt.Sprintf("the store at %s can't be reached: %v", hosts, op.Err)
	case errors.As(err, &ex) && authFailed(ex.Code):
		msg = fmt.Sprintf("the store at %s does not accept user %s with this password (code %d)", hosts, c.cfg.User, ex.Code)
	}
	return &Error{msg: msg, err: err}
}

// Codes of ClickHouse's errors, from its ErrorCodes.cpp.
const (
	codeCannotRead       = 33 // CANNOT_READ_ALL_DATA
	codeIncorrectData    = 117
	codeUnknownUser      = 192
	codeWrongPassword    = 193
	codeRequiredPassword = 194
	codeAuthFailed       = 516
)

func authFailed(code int32) bool {
	switch code {
	case codeUnknownUser, codeWrongPassword, codeRequiredPassword, codeAuthFailed:
		return true
	}
	return false
}
