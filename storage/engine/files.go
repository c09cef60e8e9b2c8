package engine

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/rocelens/rocelens/pipeline/words"
)

// What is in the directory:
//
//	rocelens.lock   locked while in use, with who uses it
//	credentials     user and password, kept for clients outside (netrc format)
//	data            ClickHouse's own
//	run             configuration, written at each start, removed at each stop
const (
	lockName        = "rocelens.lock"
	credentialsName = "credentials"
	dataName        = "data"
	runName         = "run"
)

// user is who clients are.
const user = "rocelens"

// checkDir refuses what can't be the directory of an engine: a file, a device, or a path
// below one.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return fmt.Errorf("the directory of the embedded ClickHouse: %s is not a directory, name another", words.Shell(dir))
	}
	return nil
}

// makeDirs makes the directory and those in it, for nobody else to look into.
func makeDirs(dir string) error {
	for _, d := range []string{dir, filepath.Join(dir, dataName), filepath.Join(dir, runName)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("the directory of the embedded ClickHouse: %w", err)
		}
	}
	return nil
}

// password returns the password in the file of credentials, which names host. A
// new one is made if there is none, or if others could have read it.
func password(dir, host string) (string, error) {
	path := filepath.Join(dir, credentialsName)
	secret := newPassword()
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file: remove it, a new one is made", path)
	case info.Mode().Perm()&0o077 == 0:
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if f := strings.Fields(string(text)); len(f) == 6 && f[4] == "password" && isPassword(f[5]) {
			if secret = f[5]; f[1] == host {
				return secret, nil
			}
		}
	}
	return secret, writeFile(path, "machine "+host+" login "+user+" password "+secret+"\n")
}

const passwordBytes = 24 // of chance

func newPassword() string {
	b := make([]byte, passwordBytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func isPassword(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == passwordBytes
}

// writeFile puts a file that its owner alone can read in the place of path.
func writeFile(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	err = f.Close()
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeConfig writes what ClickHouse reads when it starts, and returns the path.
// The password itself is in neither file.
func writeConfig(dir string, host string, http, native uint16, memory int64, secret string) (string, error) {
	run := filepath.Join(dir, runName)
	users := filepath.Join(run, "users.xml")
	ports := "<http_port>" + port(http) + "</http_port>"
	if native != 0 {
		ports += "<tcp_port>" + port(native) + "</tcp_port>"
	}
	// Distributed tables send in the background only where this pool has threads.
	config := `<clickhouse>
    <path>` + escape(filepath.Join(dir, dataName)) + `/</path>
    <users_config>` + escape(users) + `</users_config>
    <listen_host>` + host + `</listen_host>
    ` + ports + `
    <timezone>UTC</timezone>
    <max_server_memory_usage>` + strconv.FormatInt(memory, 10) + `</max_server_memory_usage>
    <background_distributed_schedule_pool_size>2</background_distributed_schedule_pool_size>
    <logger><level>warning</level><console>1</console></logger>
</clickhouse>
`
	// ClickHouse compiles what is asked again and again, for which it needs memory
	// that it can write and then run. A sandbox that refuses that makes such
	// questions fail, so it does not compile; that makes no difference to ours
	// that could be measured.
	//
	// The library starts as the user default, which can't have a password. It may
	// open the ports and do nothing that needs a privilege.
	sum := sha256.Sum256([]byte(secret))
	accounts := `<clickhouse>
    <profiles>
        <default>
            <compile_expressions>0</compile_expressions>
            <compile_aggregate_expressions>0</compile_aggregate_expressions>
            <compile_sort_description>0</compile_sort_description>
        </default>
        <startup>
            <max_memory_usage>16000000</max_memory_usage>
            <max_threads>1</max_threads>
            <max_concurrent_queries_for_user>1</max_concurrent_queries_for_user>
            <constraints>
                <max_memory_usage><const/></max_memory_usage>
                <max_threads><const/></max_threads>
                <max_concurrent_queries_for_user><const/></max_concurrent_queries_for_user>
            </constraints>
        </startup>
    </profiles>
    <quotas><default/></quotas>
    <users>
        <default>
            <no_password/>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>startup</profile>
            <quota>default</quota>
            <grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants>
        </default>
        <` + user + `>
            <password_sha256_hex>` + hex.EncodeToString(sum[:]) + `</password_sha256_hex>
            <networks><ip>127.0.0.0/8</ip><ip>::1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
        </` + user + `>
    </users>
</clickhouse>
`
	if err := writeFile(users, accounts); err != nil {
		return "", err
	}
	path := filepath.Join(run, "config.xml")
	return path, writeFile(path, config)
}

func port(n uint16) string { return strconv.Itoa(int(n)) }

// escape is s as text of XML.
func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a bytes.Buffer takes everything
	return b.String()
}

// removeConfig leaves nothing of a run behind.
func removeConfig(dir string) error { return os.RemoveAll(filepath.Join(dir, runName)) }

// InUseError says that another engine has the directory.
type InUseError struct {
	Dir  string
	PID  int    // 0 if it is not known
	Name string // who says to have it
}

func (e *InUseError) Error() string {
	who := e.Name
	if who == "" {
		who = "another ClickHouse"
	}
	if e.PID != 0 {
		who += ", process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: stop that first, or take another directory", e.Dir, who)
}

// readOwner returns who wrote itself into the lock file: "PID NAME".
func readOwner(f *os.File) (pid int, name string) {
	b := make([]byte, 256)
	n, _ := f.ReadAt(b, 0)
	first, rest, _ := strings.Cut(strings.TrimSpace(string(b[:n])), " ")
	pid, _ = strconv.Atoi(first)
	return pid, rest
}

func writeOwner(f *os.File, pid int, name string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(pid)+" "+name+"\n"), 0)
	return err
}

// dataOwner is the process that ClickHouse itself wrote into its data.
func dataOwner(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, dataName, "status"))
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "PID: "); ok {
			pid, _ := strconv.Atoi(strings.TrimSpace(v))
			return pid
		}
	}
	return 0
}
