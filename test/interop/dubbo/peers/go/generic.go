package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/filter/generic"
	hessian "github.com/apache/dubbo-go-hessian2"
)

// callGeneric calls the interface without its types.
func callGeneric(cli *client.Client) error {
	service, err := cli.NewGenericService(plainServiceName)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(genericCases)) {
		report(name, caught(func() error { return genericCases[name](service) }))
	}
	return nil
}

func invoke(service *generic.GenericService, method string, types []string, args ...hessian.Object) (any, error) {
	if types == nil {
		types = []string{}
	}
	return service.Invoke(context.Background(), method, types, args)
}

// gives calls a method, and compares the result.
func gives(service *generic.GenericService, expected any, method string, types []string, args ...hessian.Object) error {
	got, err := invoke(service, method, types, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if !reflect.DeepEqual(expected, got) {
		return fmt.Errorf("%s: expected %#v, got %#v", method, expected, got)
	}
	return nil
}

// refuses wants a call to fail with a message that has the text.
func refuses(service *generic.GenericService, text, method string, types []string, args ...hessian.Object) error {
	got, err := invoke(service, method, types, args...)
	if err == nil {
		return fmt.Errorf("%s succeeded with %#v", method, got)
	}
	if !strings.Contains(err.Error(), text) {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// fieldsAre compares members of a map.
func fieldsAre(value any, expected map[any]any) error {
	object, ok := value.(map[any]any)
	if !ok {
		return fmt.Errorf("got %#v", value)
	}
	for name, field := range expected {
		if !reflect.DeepEqual(field, object[name]) {
			return fmt.Errorf("%v: expected %#v, got %#v", name, field, object[name])
		}
	}
	return nil
}

var (
	one  = []string{"java.lang.String"}
	ints = []string{"int"}
)

// genericCases are those of generic-cases.ts.
var genericCases = map[string]func(service *generic.GenericService) error{
	"overloads": func(s *generic.GenericService) error {
		return first(
			gives(s, "Hello, Zoë!", "greet", one, "Zoë"),
			gives(s, "Hello, Ada! Hello, Ada!", "greet", []string{"java.lang.String", "int"}, "Ada", int32(2)),
		)
	},
	"scalars": func(s *generic.GenericService) error {
		return first(
			gives(s, int32(2), "increment", ints, int32(1)),
			gives(s, int64(9007199254740994), "next", []string{"long"}, int64(9007199254740993)),
			gives(s, 2.0, "half", []string{"double"}, 4.0),
			gives(s, false, "not", []string{"boolean"}, true),
			gives(s, int64(8), "boxedNext", []string{"java.lang.Long"}, int64(7)),
		)
	},
	"collections": func(s *generic.GenericService) error {
		return first(
			gives(s, []any{"b", "a"}, "reverse", []string{"java.util.List"}, []any{"a", "b"}),
			gives(s, []int32{1, 2}, "sortInts", []string{"[I"}, []int32{2, 1}),
			gives(s, []string{"a", "b"}, "sortStrings", []string{"[Ljava.lang.String;"}, []string{"b", "a"}),
			gives(s, []byte{2, 1}, "reverseBytes", []string{"[B"}, []byte{1, 2}),
		)
	},
	"dates_and_decimals": func(s *generic.GenericService) error {
		born := time.UnixMilli(894_621_091_000)
		got, err := invoke(s, "birthday", []string{"com.example.interop.User"}, map[any]any{"born": born})
		if err != nil {
			return err
		}
		if at, ok := got.(map[any]any)["born"].(time.Time); !ok || !at.Equal(born) {
			return fmt.Errorf("got %#v", got)
		}
		total, err := invoke(s, "total", []string{"java.util.List"}, []any{decimal("12.50")})
		if err != nil {
			return err
		}
		return same("12.50", fmt.Sprint(total))
	},
	"maps": func(s *generic.GenericService) error {
		return gives(s, map[any]any{"one": int32(1)}, "lengths", []string{"java.util.Map"}, map[any]any{"one": "a"})
	},
	"sets": func(s *generic.GenericService) error {
		return gives(s, []any{"A"}, "upper", []string{"java.util.Set"}, []any{"a"})
	},
	"enums": func(s *generic.GenericService) error {
		return gives(s, "EXPERT", "promote", []string{"com.example.interop.Level"}, "NOVICE")
	},
	"objects": func(s *generic.GenericService) error {
		user := map[any]any{
			"class": "com.example.interop.User", "name": "Zoë", "age": int32(41), "id": int64(9007199254740993),
			"score": int64(5), "active": true, "weight": 61.5, "level": "EXPERT", "born": time.UnixMilli(894_621_091_000),
			"address": map[any]any{"street": "Hauptstraße", "number": int32(7)}, "tags": []any{"a", "b"},
		}
		got, err := invoke(s, "birthday", []string{"com.example.interop.User"}, user)
		if err != nil {
			return err
		}
		err = fieldsAre(got, map[any]any{
			"class": "com.example.interop.User", "name": "Zoë", "age": int32(42), "id": int64(9007199254740993),
			"score": int64(5), "active": true, "weight": 61.5, "level": "EXPERT", "tags": []any{"a", "b"}, "balance": nil,
		})
		if err != nil {
			return err
		}
		return fieldsAre(got.(map[any]any)["address"], map[any]any{"street": "Hauptstraße", "number": int32(7)})
	},
	"cycles": func(s *generic.GenericService) error {
		got, err := invoke(s, "boss", one, "Ada")
		if err != nil {
			return err
		}
		boss := got.(map[any]any)
		if manager, ok := boss["manager"].(map[any]any); !ok || manager["name"] != "Ada" {
			return fmt.Errorf("the manager is of type %T", boss["manager"])
		}
		return nil
	},
	"null_and_void": func(s *generic.GenericService) error {
		return first(
			gives(s, nil, "nothing", nil),
			gives(s, nil, "note", one, "seen"),
			gives(s, "seen", "noted", nil),
			gives(s, nil, "boxedNext", []string{"java.lang.Long"}, nil),
		)
	},
	"checked_exception": func(s *generic.GenericService) error {
		return refuses(s, "no such thing", "fail", []string{"java.lang.String", "int"}, "no such thing", int32(7))
	},
	"unchecked_exception": func(s *generic.GenericService) error {
		return refuses(s, "not now", "failUnchecked", one, "not now")
	},
	"unknown_method": func(s *generic.GenericService) error { return refuses(s, "absent", "absent", one, "a") },
	"wrong_arguments": func(s *generic.GenericService) error {
		return first(
			refuses(s, "", "increment", ints, "one"),
			refuses(s, "", "increment", ints, int32(1), int32(2)),
		)
	},
}
