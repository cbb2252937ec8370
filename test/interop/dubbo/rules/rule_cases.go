// Applies single rules to endpoints with the routers of dubbo-go. Each line of the input is a case, and each line of the
// output the sets of endpoints that calls of the case may get, as positions in its list; "panic" for a call or a rule that
// panics.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"sort"
	"strconv"
	"strings"

	"dubbo.apache.org/dubbo-go/v3/cluster/router"
	"dubbo.apache.org/dubbo-go/v3/cluster/router/affinity"
	"dubbo.apache.org/dubbo-go/v3/cluster/router/condition"
	"dubbo.apache.org/dubbo-go/v3/cluster/router/tag"
	"dubbo.apache.org/dubbo-go/v3/common"
	"dubbo.apache.org/dubbo-go/v3/config_center"
	"dubbo.apache.org/dubbo-go/v3/protocol/base"
	"dubbo.apache.org/dubbo-go/v3/protocol/invocation"
	"dubbo.apache.org/dubbo-go/v3/remoting"
	"github.com/dubbogo/gost/log/logger"
)

type ruleCase struct {
	Consumer  string     `json:"consumer"`
	Providers []string   `json:"providers"`
	Texts     [][]string `json:"texts"`
	Router    int        `json:"router"`
	Runs      int        `json:"runs"`
	Call      struct {
		Method      string            `json:"method"`
		Arguments   []any             `json:"arguments"`
		Attachments map[string]string `json:"attachments"`
	} `json:"call"`
}

// The routers, in the order of the texts.
func routerOf(position int, consumer *common.URL) (router.PriorityRouter, string) {
	var made router.PriorityRouter
	var err error
	switch position {
	case 0:
		made, err = tag.NewTagPriorityRouter()
		return must(made, err), "shop.tag-router"
	case 1:
		made, err = affinity.NewServiceAffinityRouterFactory().NewPriorityRouter(consumer)
	case 2:
		made, err = affinity.NewApplicationAffinityRouterFactory().NewPriorityRouter(consumer)
	case 3:
		made = condition.NewServiceRouter()
	default:
		made = condition.NewApplicationRouter(consumer)
	}
	return must(made, err), "key"
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func answer(one ruleCase) []string {
	consumer := must(common.NewURL(one.Consumer))
	positions := map[base.Invoker]int{}
	invokers := []base.Invoker{}
	for index, text := range one.Providers {
		invoker := base.NewBaseInvoker(must(common.NewURL(text)))
		positions[invoker] = index
		invokers = append(invokers, invoker)
	}
	results := map[string]bool{}
	rule, key := routerOf(one.Router, consumer)
	for _, text := range one.Texts[one.Router] {
		if !process(rule, key, text) {
			return []string{"panic"}
		}
	}
	for range one.Runs {
		results[route(rule, invokers, positions, consumer, one)] = true
	}
	list := []string{}
	for result := range results {
		list = append(list, result)
	}
	sort.Strings(list)
	return list
}

func process(rule router.PriorityRouter, key string, text string) (done bool) {
	defer func() { recover() }()
	event := &config_center.ConfigChangeEvent{Key: key, Value: text, ConfigType: remoting.EventTypeUpdate}
	rule.(config_center.ConfigurationListener).Process(event)
	return true
}

func route(rule router.PriorityRouter, invokers []base.Invoker, positions map[base.Invoker]int, consumer *common.URL, one ruleCase) (result string) {
	defer func() {
		if recover() != nil {
			result = "panic"
		}
	}()
	attachments := map[string]any{}
	for name, value := range one.Call.Attachments {
		attachments[name] = value
	}
	call := invocation.NewRPCInvocation(one.Call.Method, one.Call.Arguments, attachments)
	left := []int{}
	for _, invoker := range rule.Route(append([]base.Invoker{}, invokers...), consumer, call) {
		left = append(left, positions[invoker])
	}
	sort.Ints(left)
	texts := []string{}
	for _, position := range left {
		texts = append(texts, strconv.Itoa(position))
	}
	return strings.Join(texts, ",")
}

// Drops what dubbo-go logs: a line for each rule and each empty result.
type quiet struct{}

func (quiet) Debug(...any)          {}
func (quiet) Info(...any)           {}
func (quiet) Warn(...any)           {}
func (quiet) Error(...any)          {}
func (quiet) Fatal(...any)          {}
func (quiet) Debugf(string, ...any) {}
func (quiet) Infof(string, ...any)  {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

func main() {
	logger.SetLogger(quiet{})
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var one ruleCase
		if err := json.Unmarshal(line, &one); err != nil {
			panic(err)
		}
		text := must(json.Marshal(answer(one)))
		output.Write(append(text, '\n'))
	}
}
