//go:build linux

package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"espalier.dev/espalier/apps/sandbox-agent/internal/files"
	"espalier.dev/espalier/apps/sandbox-agent/internal/jobs"
	"espalier.dev/espalier/apps/sandbox-agent/internal/model"
	"espalier.dev/espalier/apps/sandbox-agent/internal/spec"
	"espalier.dev/espalier/apps/sandbox-agent/internal/terminal"
)

// maxJobBytes bounds a job request: command and base64 stdin.
const maxJobBytes = 256 << 20

type server struct {
	id, token, workdir, isolation, modelError string
	hub                                       *model.Hub
	jobs                                      *jobs.Manager
	lease                                     *lease
}

func (s *server) handler() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /v1/health", s.health)
	routes.HandleFunc("GET /v1/jobs", s.listJobs)
	routes.HandleFunc("PUT /v1/jobs/{id}", s.startJob)
	routes.HandleFunc("GET /v1/jobs/{id}", s.getJob)
	routes.HandleFunc("DELETE /v1/jobs/{id}", s.cancelJob)
	routes.HandleFunc("PUT /v1/files", s.putFile)
	routes.HandleFunc("GET /v1/files", s.getFile)
	routes.HandleFunc("GET /v1/files/list", s.listFiles)
	routes.HandleFunc("PUT /v1/archive", s.putArchive)
	routes.HandleFunc("GET /v1/archive", s.getArchive)
	routes.HandleFunc("POST /v1/lease", s.renewLease)
	routes.HandleFunc("POST /v1/model", s.openModel)
	routes.HandleFunc("POST /v1/terminal", s.openTerminal)
	routes.HandleFunc("POST /v1/end", s.endSandbox)
	expected := sha256.Sum256([]byte("Bearer " + s.token))
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		given := sha256.Sum256([]byte(request.Header.Get("Authorization")))
		if s.token == "" || subtle.ConstantTimeCompare(given[:], expected[:]) != 1 {
			refuse(response, http.StatusUnauthorized, "AGENT_UNAUTHORIZED", "the token is missing or wrong")
			return
		}
		// Who answers: a manager that reached another sandbox by a stale address must notice.
		response.Header().Set("X-Espalier-Sandbox", s.id)
		routes.ServeHTTP(response, request)
	})
}

func (s *server) health(response http.ResponseWriter, _ *http.Request) {
	reply(response, http.StatusOK, map[string]any{
		"pid": os.Getpid(), "sandbox_id": s.id, "version": spec.Version, "isolation": s.isolation,
		"workdir": s.workdir, "model_error": s.modelError,
	})
}

func (s *server) startJob(response http.ResponseWriter, request *http.Request) {
	var wanted jobs.Request
	if err := json.NewDecoder(http.MaxBytesReader(response, request.Body, maxJobBytes)).Decode(&wanted); err != nil {
		refuse(response, http.StatusBadRequest, "AGENT_REQUEST", err.Error())
		return
	}
	job, err := s.jobs.Start(request.PathValue("id"), &wanted)
	if err != nil {
		refuse(response, http.StatusBadRequest, "AGENT_REQUEST", err.Error())
		return
	}
	s.waitFor(request, job)
	reply(response, http.StatusOK, job.View())
}

func (s *server) listJobs(response http.ResponseWriter, _ *http.Request) {
	reply(response, http.StatusOK, map[string]any{"jobs": s.jobs.Views()})
}

func (s *server) getJob(response http.ResponseWriter, request *http.Request) {
	job, found := s.jobs.Get(request.PathValue("id"))
	if !found {
		refuse(response, http.StatusNotFound, "JOB_UNKNOWN", "no such job")
		return
	}
	s.waitFor(request, job)
	reply(response, http.StatusOK, job.View())
}

func (s *server) cancelJob(response http.ResponseWriter, request *http.Request) {
	job, found := s.jobs.Get(request.PathValue("id"))
	if !found {
		refuse(response, http.StatusNotFound, "JOB_UNKNOWN", "no such job")
		return
	}
	job.Cancel()
	reply(response, http.StatusOK, job.View())
}

// waitFor holds the answer until the job is over, `wait_ms` have passed or the caller has gone.
func (s *server) waitFor(request *http.Request, job *jobs.Job) {
	milliseconds, err := strconv.Atoi(request.URL.Query().Get("wait_ms"))
	if err != nil || milliseconds <= 0 {
		return
	}
	limit, cancel := context.WithTimeout(request.Context(), time.Duration(milliseconds)*time.Millisecond)
	defer cancel()
	select {
	case <-job.Done():
	case <-limit.Done():
	}
}

// target resolves the `path` parameter in the sandbox's working directory.
func (s *server) target(request *http.Request) string {
	given := request.URL.Query().Get("path")
	if path.IsAbs(given) {
		return filepath.Clean(given)
	}
	return filepath.Join(s.workdir, given)
}

func (s *server) putFile(response http.ResponseWriter, request *http.Request) {
	mode := uint64(0)
	if text := request.URL.Query().Get("mode"); text != "" {
		parsed, err := strconv.ParseUint(text, 8, 32)
		if err != nil {
			refuse(response, http.StatusBadRequest, "AGENT_REQUEST", fmt.Sprintf("mode %q is not octal", text))
			return
		}
		mode = parsed
	}
	size, err := files.Write(s.target(request), fs.FileMode(mode).Perm(), request.Body)
	if err != nil {
		refuseFile(response, err)
		return
	}
	reply(response, http.StatusOK, map[string]any{"path": s.target(request), "size": size})
}

func (s *server) getFile(response http.ResponseWriter, request *http.Request) {
	file, info, err := files.Open(s.target(request))
	if err != nil {
		refuseFile(response, err)
		return
	}
	defer file.Close()
	response.Header().Set("Content-Type", "application/octet-stream")
	if info.Size() > 0 {
		response.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
		_, _ = io.Copy(response, io.LimitReader(file, info.Size()))
		return
	}
	// Files of /proc say that they are empty.
	_, _ = io.Copy(response, file)
}

func (s *server) listFiles(response http.ResponseWriter, request *http.Request) {
	entries, err := files.List(s.target(request))
	if err != nil {
		refuseFile(response, err)
		return
	}
	reply(response, http.StatusOK, map[string]any{"path": s.target(request), "files": entries})
}

func (s *server) putArchive(response http.ResponseWriter, request *http.Request) {
	count, err := files.Extract(s.target(request), request.Body)
	if err != nil {
		refuseFile(response, err)
		return
	}
	reply(response, http.StatusOK, map[string]any{"path": s.target(request), "entries": count})
}

func (s *server) getArchive(response http.ResponseWriter, request *http.Request) {
	patterns := request.URL.Query()["exclude"]
	exclude := func(name string) bool {
		for _, pattern := range patterns {
			if matched, err := path.Match(pattern, name); err == nil && matched {
				return true
			}
			if matched, err := path.Match(pattern, path.Base(name)); err == nil && matched {
				return true
			}
		}
		return false
	}
	if info, err := os.Stat(s.target(request)); err != nil || !info.IsDir() {
		refuseFile(response, files.Pack(s.target(request), nil, io.Discard))
		return
	}
	response.Header().Set("Content-Type", "application/x-tar")
	if err := files.Pack(s.target(request), exclude, response); err != nil {
		// The length is unknown to the reader: only a broken connection tells that the tar is not whole.
		panic(http.ErrAbortHandler)
	}
}

func (s *server) renewLease(response http.ResponseWriter, request *http.Request) {
	var wanted struct {
		TTL int64 `json:"ttl_ms"`
	}
	if err := json.NewDecoder(request.Body).Decode(&wanted); err != nil || wanted.TTL < 0 {
		refuse(response, http.StatusBadRequest, "AGENT_REQUEST", "give {\"ttl_ms\": n}, n >= 0")
		return
	}
	s.lease.renew(time.Duration(wanted.TTL) * time.Millisecond)
	reply(response, http.StatusOK, map[string]any{"ttl_ms": wanted.TTL})
}

func (s *server) openModel(response http.ResponseWriter, request *http.Request) {
	epoch, err := strconv.ParseInt(request.Header.Get("X-Espalier-Epoch"), 10, 64)
	if err != nil || request.Header.Get("Upgrade") != "espalier-model" {
		refuse(response, http.StatusBadRequest, "AGENT_REQUEST", "an upgrade to espalier-model with X-Espalier-Epoch is needed")
		return
	}
	if err := s.hub.Admit(epoch); err != nil {
		refuse(response, http.StatusConflict, "MODEL_STREAM_STALE", err.Error())
		return
	}
	connection, reader, err := upgrade(response, "espalier-model")
	if err != nil {
		return
	}
	s.hub.Serve(connection, reader, epoch)
}

func (s *server) openTerminal(response http.ResponseWriter, request *http.Request) {
	if request.Header.Get("Upgrade") != "espalier-terminal" {
		refuse(response, http.StatusBadRequest, "AGENT_REQUEST", "an upgrade to espalier-terminal is needed")
		return
	}
	connection, reader, err := upgrade(response, "espalier-terminal")
	if err != nil {
		return
	}
	terminal.Serve(connection, reader, s.jobs)
}

// upgrade takes the connection over; the reader holds what has come in already.
func upgrade(response http.ResponseWriter, protocol string) (net.Conn, io.Reader, error) {
	connection, buffered, err := http.NewResponseController(response).Hijack()
	if err != nil {
		refuse(response, http.StatusInternalServerError, "AGENT_REQUEST", err.Error())
		return nil, nil, err
	}
	_ = connection.SetDeadline(time.Time{})
	_, err = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n")
	if err != nil {
		connection.Close()
		return nil, nil, err
	}
	return connection, buffered.Reader, nil
}

func (s *server) endSandbox(response http.ResponseWriter, _ *http.Request) {
	reply(response, http.StatusOK, map[string]any{})
	_ = http.NewResponseController(response).Flush()
	// The answer leaves first.
	time.AfterFunc(5*time.Millisecond, end)
}

func reply(response http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"code":"AGENT_FAILED"}`)
	}
	response.Header().Set("Content-Type", "application/json")
	response.Header().Set("Content-Length", strconv.Itoa(len(text)))
	response.WriteHeader(status)
	_, _ = response.Write(text)
}

func refuse(response http.ResponseWriter, status int, code, message string) {
	reply(response, status, map[string]string{"code": code, "message": message})
}

var fileStatus = map[string]int{
	files.NotFound: http.StatusNotFound, files.NotAFile: http.StatusBadRequest, files.NotADir: http.StatusBadRequest,
	files.ArchiveError: http.StatusBadRequest, files.Denied: http.StatusForbidden, files.Full: http.StatusInsufficientStorage,
}

func refuseFile(response http.ResponseWriter, err error) {
	var known *files.Error
	if !errors.As(err, &known) {
		known = &files.Error{Code: files.Failed, Message: fmt.Sprint(err)}
	}
	status, found := fileStatus[known.Code]
	if !found {
		status = http.StatusInternalServerError
	}
	refuse(response, status, known.Code, known.Message)
}
