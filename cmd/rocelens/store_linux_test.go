package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// TestStoreServe: the command says where it can be reached, can be reached there
// with what is in the file, keeps others out of its directory, and ends with
// exit code 0 when it is told to.
func TestStoreServe(t *testing.T) {
	enginetest.Need(t)
	dir := filepath.Join(t.TempDir(), "store")
	serve := func() *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", "store", "serve", "--listen", "127.0.0.1:0", "embedded:"+dir)
		cmd.Args[0] = "rocelens" // see TestMain
		return cmd
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		var errOut bytes.Buffer
		cmd := serve()
		cmd.Stderr = &errOut
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		r := bufio.NewReader(out)
		where, _ := r.ReadString('\n')
		file, _ := r.ReadString('\n')
		m := regexp.MustCompile(`^ClickHouse [0-9.]+ answers at (http://127\.0\.0\.1:\d+/) \(process (\d+)\)\n$`).FindStringSubmatch(where)
		if m == nil || file != "user and password are in "+dir+"/credentials\n" {
			_ = cmd.Wait()
			t.Fatalf("it prints %q %q %s", where, file, errOut.String())
		}

		// The process is ClickHouse's: another one, that was started with its configuration.
		if line, err := os.ReadFile("/proc/" + m[2] + "/cmdline"); err != nil || m[2] == strconv.Itoa(cmd.Process.Pid) || !strings.Contains(string(line), filepath.Join(dir, "run", "config.xml")) {
			t.Errorf("process %s of %d: %q, %v", m[2], cmd.Process.Pid, line, err)
		}

		text, err := os.ReadFile(filepath.Join(dir, "credentials"))
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(string(text)) // machine HOST login USER password PASSWORD
		req, err := http.NewRequest(http.MethodPost, m[1], strings.NewReader("SELECT currentUser(), timezone()"))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth(f[3], f[5])
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		if err != nil || !strings.HasPrefix(string(body), "rocelens\t") || !strings.HasSuffix(string(body), "UTC\n") {
			t.Errorf("%s %v", body, err)
		}

		second, err := serve().CombinedOutput()
		if err == nil || !strings.Contains(string(second), "store is in use by rocelens store serve, process ") {
			t.Errorf("a second one: %s %v", second, err)
		}

		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(r)
		if err := cmd.Wait(); err != nil || len(rest) > 0 || errOut.Len() > 0 {
			t.Errorf("after %v: %v, %s%s", signal, err, rest, errOut.String())
		}
	}
}
