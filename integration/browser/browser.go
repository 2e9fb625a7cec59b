// Package browser controls a headless Chromium for tests. A [Browser] shows one page at a time,
// and records the page's requests, errors and dialogs. The package uses the DevTools protocol
// over two pipes, so the browser opens no port.
package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// programs are the possible names of the browser's executable, in order of preference: smaller
// browsers first.
var programs = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}

// Browser is a running browser. Its methods must not be called concurrently. The caller must
// call Close.
type Browser struct {
	command   *exec.Cmd
	directory string // directory of the browser's profile
	commands  io.WriteCloser
	reading   sync.WaitGroup
	session   string // ID of the DevTools session of the only page

	mu       sync.Mutex
	last     int                  // id of the last command
	pending  map[int]chan message // for each command that waits for its response, by command id
	err      error                // why no more messages can be exchanged; nil while the browser runs
	loaded   chan struct{}        // buffered; contains an element if the page has finished loading since Open began
	loader   string               // DevTools loader id of the page that Open opened
	requests []request
	problems []string
	dialogs  int
	changed  bool // whether a request since Open began has failed with networkChanged
}

// request is a request of a page. loader is the DevTools loader id of that page: the previous page
// can still send a request after Open began.
type request struct{ loader, url string }

// networkChanged is the error of requests that the browser cancels because an interface of this
// machine has got or lost an address, as happens if containers start or stop at the same time.
const networkChanged = "net::ERR_NETWORK_CHANGED"

// message is a message of the DevTools protocol: a command, the response to a command, or an
// event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser with an empty page of width x height pixels. It fails if no Chromium
// is installed.
func Start(ctx context.Context, width, height int) (_ *Browser, err error) {
	var path string
	for _, program := range programs {
		if path, err = exec.LookPath(program); err == nil {
			break
		}
	}
	if path == "" {
		return nil, fmt.Errorf("no browser: install one of %v", programs)
	}
	directory, err := os.MkdirTemp("", "bobbin-browser-")
	if err != nil {
		return nil, err
	}
	b := &Browser{directory: directory, pending: map[int]chan message{}, loaded: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if err := b.run(path); err != nil {
		return nil, err
	}
	if err := b.attach(ctx); err != nil {
		return nil, err
	}
	return b, b.Resize(ctx, width, height)
}

func (b *Browser) run(path string) error {
	input, commands, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }()
	responses, output, err := os.Pipe()
	if err != nil {
		return errors.Join(err, commands.Close())
	}
	defer func() { _ = output.Close() }()
	b.command = exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--user-data-dir="+b.directory, "--remote-debugging-pipe", "about:blank")
	b.command.ExtraFiles = []*os.File{input, output}
	// The browser's child processes have the same stderr, so Wait also waits for them.
	b.command.Stderr, b.command.WaitDelay = io.Discard, 2*exitTimeout
	b.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.commands = commands
	if err := b.command.Start(); err != nil {
		b.command = nil
		return errors.Join(err, commands.Close(), responses.Close())
	}
	b.reading.Go(func() { b.read(responses) })
	return nil
}

// attach creates a page, attaches a DevTools session to it, and enables the page's events.
func (b *Browser) attach(ctx context.Context) error {
	var target struct {
		TargetID string `json:"targetId"`
	}
	if err := b.call(ctx, "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	if err := b.call(ctx, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := b.call(ctx, domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// exitTimeout is the time that the browser may need to exit.
const exitTimeout = 5 * time.Second

// Close ends the browser and its child processes, and removes its profile.
func (b *Browser) Close() error {
	if b.command != nil {
		_ = b.commands.Close() // makes the browser exit
		exited := make(chan error, 1)
		go func() { exited <- b.command.Wait() }()
		select {
		case <-exited:
		case <-time.After(exitTimeout):
			_ = syscall.Kill(-b.command.Process.Pid, syscall.SIGKILL)
			<-exited
		}
		b.reading.Wait()
	}
	return os.RemoveAll(b.directory)
}

// read receives messages until the browser exits.
func (b *Browser) read(responses io.ReadCloser) {
	defer func() { _ = responses.Close() }()
	reader := bufio.NewReader(responses)
	for {
		line, err := reader.ReadBytes(0)
		var m message
		if err == nil {
			err = json.Unmarshal(line[:len(line)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.err = fmt.Errorf("the browser has ended: %w", err)
			for _, response := range b.pending {
				close(response)
			}
			b.pending = map[int]chan message{}
			b.mu.Unlock()
			return
		}
		if response := b.pending[m.ID]; m.ID != 0 && response != nil {
			delete(b.pending, m.ID)
			response <- m
		}
		b.observe(m)
		b.mu.Unlock()
	}
}

// observe records the request, problem, dialog or end of loading that an event reports. It
// ignores other messages.
func (b *Browser) observe(m message) {
	var event struct {
		Type     string `json:"type"`
		LoaderID string `json:"loaderId"`
		Request  struct {
			URL string `json:"url"`
		} `json:"request"`
		ErrorText string `json:"errorText"`
		Entry     struct {
			Level, Text, URL string
		} `json:"entry"`
		Args []struct {
			Value       any    `json:"value"`
			Description string `json:"description"`
		} `json:"args"`
		ExceptionDetails struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if m.Method == "" || json.Unmarshal(m.Params, &event) != nil {
		return
	}
	switch m.Method {
	case "Page.loadEventFired":
		select {
		case b.loaded <- struct{}{}:
		default:
		}
	case "Page.javascriptDialogOpening":
		b.dialogs++
		b.send("Page.handleJavaScriptDialog", map[string]any{"accept": true}, nil)
	case "Network.requestWillBeSent":
		b.requests = append(b.requests, request{event.LoaderID, event.Request.URL})
	case "Network.loadingFailed":
		b.changed = b.changed || event.ErrorText == networkChanged
	case "Runtime.consoleAPICalled":
		if event.Type == "error" || event.Type == "warning" || event.Type == "assert" {
			b.problems = append(b.problems, fmt.Sprintf("console: %s: %v", event.Type, event.Args))
		}
	case "Runtime.exceptionThrown":
		b.problems = append(b.problems, "exception: "+event.ExceptionDetails.Text+" "+event.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		if (event.Entry.Level == "error" || event.Entry.Level == "warning") && !strings.Contains(event.Entry.Text, networkChanged) {
			b.problems = append(b.problems, "log: "+event.Entry.Text+" "+event.Entry.URL)
		}
	}
}

// send sends a command. The response will be sent to response, or ignored if response is nil. If
// the browser has ended, send closes response. The caller must hold b.mu.
func (b *Browser) send(method string, params any, response chan message) {
	b.last++
	command, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{b.last, b.session, method, params})
	if err == nil && b.err == nil {
		_, err = b.commands.Write(append(command, 0))
	}
	if b.err = errors.Join(b.err, err); b.err != nil {
		if response != nil {
			close(response)
		}
		return
	}
	if response != nil {
		b.pending[b.last] = response
	}
}

// call sends a command, waits for the response, and decodes the response. The decoded response
// is stored in the value that result points to, unless result is nil. It fails if the browser
// reports an error.
func (b *Browser) call(ctx context.Context, method string, params, result any) error {
	response := make(chan message, 1)
	b.mu.Lock()
	b.send(method, params, response)
	b.mu.Unlock()
	select {
	case m, ok := <-response:
		switch {
		case !ok:
			b.mu.Lock()
			defer b.mu.Unlock()
			return fmt.Errorf("%s: %w", method, b.err)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

// Open opens a page and waits until it has loaded. It clears the recorded requests, problems
// and dialogs. If the browser cancels a request because the machine's network has changed, Open
// opens the page again.
func (b *Browser) Open(ctx context.Context, url string) error {
	for {
		if err := b.open(ctx, url); err != nil {
			return err
		}
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		if !changed {
			return nil
		}
	}
}

// open is like Open, but sets b.changed if a request has failed because the network has changed.
func (b *Browser) open(ctx context.Context, url string) error {
	b.mu.Lock()
	b.requests, b.problems, b.dialogs, b.changed = nil, nil, 0, false
	select {
	case <-b.loaded:
	default:
	}
	b.mu.Unlock()
	var navigated struct {
		LoaderID  string `json:"loaderId"`
		ErrorText string `json:"errorText"`
	}
	if err := b.call(ctx, "Page.navigate", map[string]any{"url": url}, &navigated); err != nil {
		return err
	}
	if navigated.ErrorText != "" && navigated.ErrorText != networkChanged {
		return fmt.Errorf("opening %s: %s", url, navigated.ErrorText)
	}
	b.mu.Lock()
	b.loader = navigated.LoaderID
	b.mu.Unlock()
	select {
	case <-b.loaded: // an error page loads, too
		return nil
	case <-ctx.Done():
		return fmt.Errorf("loading %s: %w", url, context.Cause(ctx))
	}
}

// Evaluate evaluates a JavaScript expression in the open page. It decodes the result, as JSON,
// into value unless value is nil.
func (b *Browser) Evaluate(ctx context.Context, expression string, value any) error {
	var evaluated struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	if err := b.call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &evaluated); err != nil {
		return err
	}
	if evaluated.Exception != nil {
		return fmt.Errorf("evaluating %s: %s", expression, evaluated.Exception.Text)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(evaluated.Result.Value, value)
}

// Requests returns the URLs that the page which Open opened has requested, its own URL included.
func (b *Browser) Requests() (urls []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if r.loader == b.loader {
			urls = append(urls, r.url)
		}
	}
	return urls
}

// Problems returns the errors and warnings of the browser's console since Open, such as
// violations of the content security policy.
func (b *Browser) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.problems...)
}

// Dialogs returns the number of dialogs, such as those of alert, that the page has opened since
// Open. The Browser accepts each dialog at once.
func (b *Browser) Dialogs() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dialogs
}

// Press presses and releases a key, such as "Tab".
func (b *Browser) Press(ctx context.Context, key string) error {
	for _, kind := range []string{"keyDown", "keyUp"} {
		pressed := map[string]any{"type": kind, "key": key, "code": key}
		if key == "Tab" {
			pressed["windowsVirtualKeyCode"] = 9
		}
		if err := b.call(ctx, "Input.dispatchKeyEvent", pressed, nil); err != nil {
			return err
		}
	}
	return nil
}

// SetColorScheme sets the value of the media feature prefers-color-scheme: "light" or "dark".
func (b *Browser) SetColorScheme(ctx context.Context, scheme string) error {
	return b.call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Resize sets the size of the page's window in pixels.
func (b *Browser) Resize(ctx context.Context, width, height int) error {
	return b.call(ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Picture returns a screenshot of the whole page, as PNG.
func (b *Browser) Picture(ctx context.Context) ([]byte, error) {
	var taken struct {
		Data string `json:"data"`
	}
	if err := b.call(ctx, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &taken); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(taken.Data)
}
