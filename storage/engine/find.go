package engine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rocelens/rocelens/pipeline/words"
)

// LibraryEnv names the environment variable with the path of libchdb.so.
const LibraryEnv = "ROCELENS_CHDB"

// The oldest ClickHouse that is used: the one that the tests run on. Older
// libraries can't listen, and older servers were never tried.
const (
	minMajor = 26
	minMinor = 7
)

const libraryName = "libchdb.so"

//go:embed pin.env
var pins string

// pin is a value of pin.env.
func pin(name string) string {
	for line := range strings.Lines(pins) {
		if v, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// MissingError says that there is neither a clickhouse nor a libchdb.so.
type MissingError struct {
	Dir string // of the engine
	Old string // the version of a clickhouse that is too old, or ""
}

func (e *MissingError) Error() string {
	old := ""
	if e.Old != "" {
		old = " (the one there is " + e.Old + ")"
	}
	get := "install ClickHouse, or name the library of chDB in " + LibraryEnv
	if runtime.GOARCH == "amd64" && canLoad {
		dir := e.Dir
		if noExec(dir) {
			dir = "/usr/local/lib"
		}
		get = fmt.Sprintf("`make engine` in the source of rocelens gets the library, and so does: mkdir -p %[1]s && "+
			"cd %[1]s && npm pack %[2]s@%[3]s && tar -xzf chdb-lib-*.tgz --strip-components=1 package/%[4]s",
			words.Shell(dir), pin("PACKAGE"), pin("VERSION"), libraryName)
	} else if !canLoad {
		get = "this build of rocelens can't load libraries, so install ClickHouse"
	}
	return fmt.Sprintf("no ClickHouse to start: no clickhouse %d.%d or newer in PATH%s, and no %s in %s, the user's cache or the system's libraries; %s",
		minMajor, minMinor, old, libraryName, e.Dir, get)
}

// binary is what can be started: a clickhouse, or a library that the program
// itself loads when it is started again.
type binary struct {
	program string
	library string
}

// find looks for a ClickHouse: the library that the configuration or the
// environment names; a clickhouse in PATH; the library in dir, where
// `make engine` puts it, and where systems keep theirs.
func find(ctx context.Context, library, dir string) (binary, error) {
	if library == "" {
		library = os.Getenv(LibraryEnv)
	}
	if library != "" {
		return binary{library: library}, checkLibrary(library)
	}
	missing := &MissingError{Dir: dir}
	if program, err := exec.LookPath("clickhouse"); err == nil {
		version, err := programVersion(ctx, program)
		if err == nil && newEnough(version) {
			return binary{program: program}, nil
		}
		if missing.Old = version; err != nil {
			missing.Old = "unusable, " + err.Error()
		}
	}
	for _, path := range libraryPaths(dir) {
		if _, err := os.Stat(path); err == nil && canLoad {
			return binary{library: path}, checkLibrary(path)
		}
	}
	return binary{}, missing
}

// Available returns nil where there is a ClickHouse to start with data in dir,
// and otherwise an error that says how to get one.
func Available(ctx context.Context, dir string) error {
	if err := checkSystem(); err != nil {
		return err
	}
	if err := checkDir(dir); err != nil {
		return err
	}
	_, err := find(ctx, "", dir)
	return err
}

func libraryPaths(dir string) []string {
	paths := []string{filepath.Join(dir, libraryName)}
	if cache, err := os.UserCacheDir(); err == nil {
		paths = append(paths, filepath.Join(cache, "rocelens", "chdb-"+pin("VERSION"), libraryName))
	}
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	for _, d := range []string{"/usr/local/lib", "/usr/lib", filepath.Join("/usr/lib", triplet), "/usr/lib64"} {
		paths = append(paths, filepath.Join(d, libraryName))
	}
	return paths
}

// checkLibrary refuses what is no file, and what anybody could have put there:
// it will run with our rights.
func checkLibrary(path string) error {
	if !canLoad {
		return errors.New("this build of rocelens can't load " + libraryName + ": use another build, or a clickhouse in PATH")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("the library of ClickHouse: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file: the library of ClickHouse is a file named %s", path, libraryName)
	case noExec(path):
		return fmt.Errorf("%s can't be loaded, as nothing there may be run (noexec): move it to /usr/local/lib", path)
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("%s can be written by everybody, so it is not loaded: chmod o-w it", path)
	}
	return nil
}

var versionNumber = regexp.MustCompile(`\b(\d+)\.(\d+)(\.\d+)*`)

// programVersion asks a clickhouse for its version.
func programVersion(ctx context.Context, program string) (string, error) {
	const patience = 10 * time.Second // it answers in well under one
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Env = childEnv()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	v := versionNumber.FindString(string(out))
	if v == "" {
		return "", fmt.Errorf("%s --version says no version", program)
	}
	return v, nil
}

// newEnough compares a version with the minimum.
func newEnough(version string) bool {
	m := versionNumber.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > minMajor || major == minMajor && minor >= minMinor
}

// childEnv is the environment of the processes that are started: what has to do
// with where things are, and none of the secrets that an environment may hold.
func childEnv() []string {
	env := []string{
		"CLICKHOUSE_WATCHDOG_ENABLE=0", // we watch it; its own would outlive being killed
		"GOTRACEBACK=none",             // a crash is ClickHouse's, and its last words matter
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
