package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func testShell(t *testing.T, timeout time.Duration, maxOutput int) *shell {
	t.Helper()
	s, err := newShell(t.TempDir(), timeout, maxOutput)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCommandResults(t *testing.T) {
	s := testShell(t, 30*time.Second, 4096)
	tests := map[string]string{
		"true":                       "[exit code: 0]",
		"printf a":                   "a\n[exit code: 0]",
		"echo out; echo err >&2":     "out\nerr\n[exit code: 0]",
		"echo no; exit 7":            "no\n[exit code: 7]",
		"kill -9 $$":                 "[ended by signal 9]",
		"cat":                        "[exit code: 0]",
		"x=1":                        "[exit code: 0]",
		"echo ${x:-unset}":           "unset\n[exit code: 0]",
		`printf 'a\xffb\n'`:          "a\uFFFDb\n[exit code: 0]",
		`[[ -n $BASH ]] && echo yes`: "yes\n[exit code: 0]",
	}
	for command, want := range tests {
		if got := s.run(t.Context(), command); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

func TestATimedOutCommandIsKilledWithItsChildren(t *testing.T) {
	s := testShell(t, 300*time.Millisecond, 4096)
	got := s.run(t.Context(), "echo before; sleep 600 & echo $! > child; wait")
	if !strings.HasPrefix(got, "before\n[timed out after 300ms") {
		t.Errorf("got %q", got)
	}
	check := testShell(t, 30*time.Second, 4096)
	check.directory = s.directory
	if got := check.run(t.Context(), "for i in $(seq 100); do kill -0 $(cat child) 2>/dev/null || { echo gone; exit; }; sleep 0.05; done"); got != "gone\n[exit code: 0]" {
		// A killed orphan may stay as a zombie where nobody reaps; that counts as ended.
		state := check.run(t.Context(), "sed -n 's/^State:\\s*//p' /proc/$(cat child)/status")
		if !strings.HasPrefix(state, "Z") {
			t.Errorf("the child is in state %q", state)
		}
	}
}

func TestABackgroundProcessDoesNotHoldTheAnswer(t *testing.T) {
	s := testShell(t, 60*time.Second, 4096)
	got := s.run(t.Context(), "(while [ ! -e stop ]; do echo tick; sleep 0.05; done; echo alive > after) & echo started")
	if !strings.Contains(got, "started\n") || !strings.HasSuffix(got, "[exit code: 0]") {
		t.Errorf("got %q", got)
	}
	// It goes on printing into a pipe that nobody shows, and must not die of it.
	got = s.run(t.Context(), "touch stop; for i in $(seq 200); do [ -e after ] && exec cat after; sleep 0.05; done")
	if got != "alive\n[exit code: 0]" {
		t.Errorf("the background process died: %q", got)
	}
}

func TestCommandsDoNotSeeTheModelsKey(t *testing.T) {
	got := commandEnvironment([]string{"PATH=/bin", "OPENAI_API_KEY=secret", "OPENAI_BASE_URL=http://x", "HOME=/root"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/root" {
		t.Errorf("got %v", got)
	}
}

func TestLongOutputLosesItsMiddle(t *testing.T) {
	s := testShell(t, 30*time.Second, 1000)
	got := s.run(t.Context(), "seq 1 100000")
	if !strings.HasPrefix(got, "1\n2\n3\n") || !strings.HasSuffix(got, "99999\n100000\n[exit code: 0]") {
		t.Errorf("got %q", got)
	}
	if len(got) > 1100 || !strings.Contains(got, "bytes left out") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestElisionKeepsCharactersWhole(t *testing.T) {
	for limit := 8; limit < 40; limit++ {
		got := elide(strings.Repeat("é漢😀", 50), limit)
		if strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("limit %d: got %q", limit, got)
		}
	}
	if got := elide("short", 100); got != "short" {
		t.Errorf("got %q", got)
	}
	exact := strings.Repeat("x", 100)
	if got := elide(exact, 100); got != exact {
		t.Errorf("got %q", got)
	}
}

func TestARemovedDirectoryIsToldNotFatal(t *testing.T) {
	s := testShell(t, 30*time.Second, 4096)
	if err := os.Remove(s.directory); err != nil {
		t.Fatal(err)
	}
	if got := s.run(t.Context(), "pwd"); !strings.HasPrefix(got, "error: the command could not be started") {
		t.Errorf("got %q", got)
	}
}
