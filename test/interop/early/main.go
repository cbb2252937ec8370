// Sends requests with net/http to a server that answers before they have ended, and counts the responses that are lost.
// Arguments: the URL, the expected status, the number of requests, the size of the body, and the content type.
package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	url, contentType := os.Args[1], os.Args[5]
	status, _ := strconv.Atoi(os.Args[2])
	count, _ := strconv.Atoi(os.Args[3])
	size, _ := strconv.Atoi(os.Args[4])
	protocols := new(http.Protocols)
	switch os.Args[6] {
	case "h2c":
		protocols.SetUnencryptedHTTP2(true)
	case "h2":
		protocols.SetHTTP2(true)
	default:
		protocols.SetHTTP1(true)
	}
	client := &http.Client{
		Timeout:   20 * time.Second,
		Transport: &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	body := bytes.Repeat([]byte("x"), size)
	for i := 0; i < count; i++ {
		if err := send(client, url, contentType, body, status, i%2 == 1); err != nil {
			fmt.Println("lost:", err)
		}
	}
	fmt.Println("done")
}

func send(client *http.Client, url, contentType string, body []byte, status int, late bool) error {
	var reader io.Reader = bytes.NewReader(body)
	if late {
		reader = io.MultiReader(&pause{}, reader)
	}
	response, err := client.Post(url, contentType, reader)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != status || !bytes.Contains(text, []byte("message"))) {
		err = fmt.Errorf("status %d with %q", response.StatusCode, text)
	}
	return err
}

// pause is a reader without bytes that takes a while to end.
type pause struct{}

func (*pause) Read([]byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return 0, io.EOF
}
