// Encodes stories with the hpack of golang.org/x/net: standard input is a list of stories, standard output their blocks.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"

	"golang.org/x/net/http2/hpack"
)

type step struct {
	Fields    []string `json:"fields"`
	TableSize *uint32  `json:"tableSize"`
}

type story struct {
	Steps []step `json:"steps"`
}

func latin1(text string) string {
	out := make([]byte, 0, len(text))
	for _, character := range text {
		out = append(out, byte(character))
	}
	return string(out)
}

func main() {
	var input []story
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		panic(err)
	}
	stories := make([][]string, 0, len(input))
	for _, one := range input {
		var buffer bytes.Buffer
		encoder := hpack.NewEncoder(&buffer)
		blocks := make([]string, 0, len(one.Steps))
		for _, step := range one.Steps {
			buffer.Reset()
			if step.TableSize != nil {
				encoder.SetMaxDynamicTableSize(*step.TableSize)
			}
			for i := 0; i < len(step.Fields); i += 2 {
				field := hpack.HeaderField{Name: latin1(step.Fields[i]), Value: latin1(step.Fields[i+1])}
				field.Sensitive = field.Name == "authorization"
				if err := encoder.WriteField(field); err != nil {
					panic(err)
				}
			}
			blocks = append(blocks, hex.EncodeToString(buffer.Bytes()))
		}
		stories = append(stories, blocks)
	}
	result := map[string]any{"encoder": "Go golang.org/x/net", "stories": stories}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		panic(err)
	}
}
