// Answers what Go's net/http makes of HTTP/1.1 input. Each input is a letter (Q: requests, R: responses, H: responses to HEAD), its
// length in four bytes, and its bytes; each answer is a line of JSON, as in verdict.ts.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

type message struct {
	Line    []string `json:"line"`
	Fields  []string `json:"fields"`
	Body    string   `json:"body"`
	End     int      `json:"end"`
	IsWhole bool     `json:"isWhole"`
}

type verdict struct {
	Messages  []message `json:"messages"`
	IsRefused bool      `json:"isRefused"`
}

// Returns bytes as Latin-1: a string with one code point for each of them.
func latin1(text string) string {
	runes := make([]rune, len(text))
	for i := 0; i < len(text); i++ {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

func flat(header http.Header) []string {
	fields := []string{}
	for name, values := range header {
		for _, value := range values {
			fields = append(fields, strings.ToLower(name), latin1(value))
		}
	}
	return fields
}

// A connection that the input comes from, byte by byte: so nothing is read ahead, and positions are known.
type conn struct {
	data     []byte
	position int
	output   bytes.Buffer
	closed   chan struct{}
	once     sync.Once
	wake     chan struct{}
	verdict  verdict
}

func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 1 && isBackground() {
		// The server waits for the end of the connection while a handler runs, and interrupts that by a deadline.
		select {
		case <-c.wake:
		case <-c.closed:
		}
		return 0, os.ErrDeadlineExceeded
	}
	if c.position == len(c.data) {
		return 0, io.EOF
	}
	p[0] = c.data[c.position]
	c.position++
	return 1, nil
}

// Reports whether the caller is the server's wait for the end of the connection.
func isBackground() bool {
	var callers [8]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, ".backgroundRead") {
			return true
		}
		if !more {
			return false
		}
	}
}

func (c *conn) Write(p []byte) (int, error) { return c.output.Write(p) }
func (c *conn) Close() error                { c.once.Do(func() { close(c.closed) }); return nil }

// The server says with this that it sends no more, half a second before it closes.
func (c *conn) CloseWrite() error                { return c.Close() }
func (c *conn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *conn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
func (c *conn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

type listener chan net.Conn

func (l listener) Accept() (net.Conn, error) { return <-l, nil }
func (l listener) Close() error              { return nil }
func (l listener) Addr() net.Addr            { return &net.TCPAddr{} }

type key struct{}

// Reports whether an error is about the bytes, not about their end.
func isRefusal(err error) bool {
	if err == nil {
		return false
	}
	isEnd := err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "unexpected EOF")
	return !isEnd
}

func handle(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(key{}).(*conn)
	body, err := io.ReadAll(r.Body)
	fields := append([]string{"host", latin1(r.Host)}, flat(r.Header)...)
	line := []string{latin1(r.Method), latin1(r.RequestURI), strconv.Itoa(r.ProtoMinor)}
	c.verdict.Messages = append(c.verdict.Messages, message{line, fields, latin1(string(body)), c.position, err == nil})
	c.verdict.IsRefused = c.verdict.IsRefused || isRefusal(err)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func requests(connections listener, data []byte) verdict {
	c := &conn{data: data, closed: make(chan struct{}), wake: make(chan struct{}, 1), verdict: verdict{Messages: []message{}}}
	connections <- c
	<-c.closed
	// A refusal is the last response.
	output := c.output.String()
	if at := strings.LastIndex(output, "HTTP/1."); at >= 0 {
		status := output[at+9 : at+10]
		c.verdict.IsRefused = c.verdict.IsRefused || status == "4" || status == "5"
	}
	return c.verdict
}

func responses(method string, data []byte) verdict {
	result := verdict{Messages: []message{}}
	source := bytes.NewReader(data)
	reader := bufio.NewReader(source)
	request := &http.Request{Method: method}
	for {
		if _, err := reader.Peek(1); err != nil {
			return result
		}
		response, err := http.ReadResponse(reader, request)
		if err != nil {
			result.IsRefused = isRefusal(err)
			return result
		}
		if response.StatusCode == 101 {
			result.IsRefused = true
			return result
		}
		body, err := io.ReadAll(response.Body)
		if response.StatusCode >= 100 && response.StatusCode < 200 {
			continue
		}
		end := len(data) - source.Len() - reader.Buffered()
		line := []string{strconv.Itoa(response.StatusCode)}
		result.Messages = append(result.Messages, message{line, flat(response.Header), latin1(string(body)), end, err == nil})
		if err != nil || response.Close {
			result.IsRefused = isRefusal(err)
			return result
		}
	}
}

func main() {
	log.SetOutput(io.Discard)
	connections := make(listener)
	server := &http.Server{
		Handler:                      http.HandlerFunc(handle),
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               64 * 1024,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, key{}, c)
		},
	}
	go server.Serve(connections)
	input := bufio.NewReader(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for {
		var head [5]byte
		if _, err := io.ReadFull(input, head[:]); err != nil {
			return
		}
		data := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(input, data); err != nil {
			return
		}
		switch head[0] {
		case 'Q':
			output.Encode(requests(connections, data))
		case 'H':
			output.Encode(responses("HEAD", data))
		default:
			output.Encode(responses("GET", data))
		}
	}
}
