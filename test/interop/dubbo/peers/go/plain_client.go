package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	gxbig "github.com/dubbogo/gost/math/big"
)

// callPlain calls the interface without a proto file. A case in which dubbo-go panics has failed.
func callPlain(cli *client.Client) error {
	conn, err := cli.Dial(plainServiceName, client.WithIDL(constant.NONIDL))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(plainCases)) {
		report(name, caught(func() error { return plainCases[name](conn) }))
	}
	return nil
}

func caught(run func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return run()
}

// wants calls a method, and compares the result, which is decoded into what the expected value is.
func wants[T any](conn *client.Connection, expected T, method string, args ...any) error {
	var got T
	if err := conn.CallUnary(context.Background(), args, &got, method); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if !reflect.DeepEqual(expected, got) {
		return fmt.Errorf("%s: expected %#v, got %#v", method, expected, got)
	}
	return nil
}

// wantsTotal compares decimals as text: two equal decimals may have different internal fields.
func wantsTotal(conn *client.Connection, expected string, amounts ...string) error {
	list := make([]any, len(amounts))
	for i, amount := range amounts {
		list[i] = decimal(amount)
	}
	total := &gxbig.Decimal{}
	if err := conn.CallUnary(context.Background(), []any{list}, total, "total"); err != nil {
		return err
	}
	return same(expected, total.String())
}

// first is the first error, of calls that have all been made.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func decimal(text string) *gxbig.Decimal {
	value := &gxbig.Decimal{}
	if err := value.FromString(text); err != nil {
		panic(err)
	}
	return value
}

func newUser() *User {
	score := int64(5)
	return &User{
		Name:    "Zoë",
		Age:     41,
		ID:      9007199254740993,
		Score:   &score,
		Active:  true,
		Weight:  61.5,
		Level:   expert,
		Balance: decimal("12.75"),
		Born:    time.UnixMilli(894_621_091_000),
		Avatar:  []byte{1, 2, 3},
		Address: &Address{Street: "Hauptstraße", Number: 7},
		Tags:    []string{"a", "b"},
		Places:  map[string]*Address{"work": {Street: "Allee", Number: 1}},
	}
}

// plainCases are those of plain-cases.ts.
var plainCases = map[string]func(conn *client.Connection) error{
	"overloads": func(conn *client.Connection) error {
		return first(
			wants(conn, "Hello, Zoë!", "greet", "Zoë"),
			wants(conn, "Hello, Ada! Hello, Ada!", "greet", "Ada", int32(2)),
		)
	},
	"primitives": func(conn *client.Connection) error {
		return first(
			wants(conn, "true -7 -300 70000 9007199254740993 1.5 0.1 ä", "primitives",
				true, int8(-7), int16(-300), int32(70_000), int64(9007199254740993), float32(1.5), 0.1, "ä"),
			wants(conn, int32(1), "increment", int32(0)),
			wants(conn, int64(9007199254740994), "next", int64(9007199254740993)),
			wants(conn, 1.25, "half", 2.5),
			wants(conn, 2.0, "half", 4.0),
			wants(conn, false, "not", true),
		)
	},
	"boxed": func(conn *client.Connection) error {
		return first(
			wants(conn, int32(8), "boxedIncrement", int32(7)),
			wants(conn, int64(8), "boxedNext", int64(7)),
			wants(conn, (*int32)(nil), "boxedIncrement", nil),
		)
	},
	"lists": func(conn *client.Connection) error {
		return first(
			wants(conn, []any{"c", "b", "a"}, "reverse", []any{"a", "b", "c"}),
			wants(conn, []any{}, "reverse", []any{}),
			wants(conn, []any{"b", "a"}, "reverse", []string{"a", "b"}),
			wants(conn, []any{int64(2)}, "nextAll", []any{int64(1)}),
			wants[any](conn, []any{"A", "B"}, "upper", []any{"a", "b"}),
			wantsTotal(conn, "12.75", "12.50", "0.25"),
		)
	},
	"maps": func(conn *client.Connection) error {
		return first(
			wants(conn, map[any]any{"one": int32(1), "two": int32(2)}, "lengths", map[any]any{"one": "a", "two": "bb"}),
			wants(conn, map[any]any{}, "lengths", map[any]any{}),
			wants(conn, map[any]any{"one": int32(1)}, "lengths", map[string]string{"one": "a"}),
			wants(conn, map[any]any{int64(9007199254740993): "Zoë"}, "names", []*User{newUser()}),
		)
	},
	"dates": func(conn *client.Connection) error {
		var got time.Time
		if err := conn.CallUnary(context.Background(), []any{time.UnixMilli(894_621_091_000)}, &got, "nextDay"); err != nil {
			return err
		}
		return same("894707491000", fmt.Sprint(got.UnixMilli()))
	},
	"bytes": func(conn *client.Connection) error {
		return first(
			wants(conn, []byte{3, 2, 1}, "reverseBytes", []byte{1, 2, 3}),
			wants(conn, []byte{}, "reverseBytes", []byte{}),
		)
	},
	"arrays": func(conn *client.Connection) error {
		return first(
			wants(conn, []int32{-1, 2, 70_000}, "sortInts", []int32{70_000, -1, 2}),
			wants(conn, []string{"a", "b"}, "sortStrings", []string{"b", "a"}),
		)
	},
	"enums": func(conn *client.Connection) error { return wants(conn, expert, "promote", novice) },
	"objects": func(conn *client.Connection) error {
		user := newUser()
		var got *User
		if err := conn.CallUnary(context.Background(), []any{user}, &got, "birthday"); err != nil {
			return err
		}
		if !got.Born.Equal(user.Born) || !bytes.Equal(got.Avatar, user.Avatar) || got.Balance.String() != "12.75" {
			return fmt.Errorf("got %+v", got)
		}
		got.Born, got.Balance = user.Born, user.Balance
		user.Age = 42
		if !reflect.DeepEqual(user, got) {
			return fmt.Errorf("expected %+v, got %+v", user, got)
		}
		return nil
	},
	"cycles": func(conn *client.Connection) error {
		var boss *User
		if err := conn.CallUnary(context.Background(), []any{"Ada"}, &boss, "boss"); err != nil {
			return err
		}
		if boss.Name != "Ada" || boss.Manager != boss {
			return fmt.Errorf("got %+v", boss)
		}
		return nil
	},
	"objects_of_any_type": func(conn *client.Connection) error {
		return first(
			wants[any](conn, "text", "echo", "text"),
			wants[any](conn, int64(7), "echo", int64(7)),
			wants[any](conn, []any{"a", int32(1)}, "echo", []any{"a", int32(1)}),
			wants[any](conn, map[any]any{"a": int32(1)}, "echo", map[any]any{"a": int32(1)}),
			wants[any](conn, &Address{Street: "a", Number: 7}, "echo", &Address{Street: "a", Number: 7}),
		)
	},
	"null_and_void": func(conn *client.Connection) error {
		var nothing *string
		if err := conn.CallUnary(context.Background(), []any{}, &nothing, "nothing"); err != nil {
			return err
		}
		var ignored any
		if err := conn.CallUnary(context.Background(), []any{"seen"}, &ignored, "note"); err != nil {
			return err
		}
		return wants(conn, "seen", "noted")
	},
	"checked_exception": func(conn *client.Connection) error { return throws(conn, "fail", "no such thing", int32(7)) },
	"unchecked_exception": func(conn *client.Connection) error {
		return throws(conn, "failUnchecked", "not now")
	},
}

// throws wants a call to fail with the message that is its first argument.
func throws(conn *client.Connection, method string, args ...any) error {
	var got any
	err := conn.CallUnary(context.Background(), args, &got, method)
	if err == nil {
		return fmt.Errorf("%s succeeded with %#v", method, got)
	}
	return same(args[0].(string), err.Error())
}
