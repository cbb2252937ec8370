package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	hessian "github.com/apache/dubbo-go-hessian2"
	gxbig "github.com/dubbogo/gost/math/big"
)

const plainServiceName = "com.example.interop.PlainService"

// User and Address are classes of PlainService.java: dubbo-go knows a Java class only if it was registered.
type User struct {
	Name    string
	Age     int32
	ID      int64 `hessian:"id"`
	Score   *int64
	Active  bool
	Weight  float64
	Level   Level
	Balance *gxbig.Decimal
	Born    time.Time
	Avatar  []byte
	Address *Address
	Tags    []string
	Places  map[string]*Address
	Manager *User
}

// Address is the class of the same name.
type Address struct {
	Street string
	Number int32
}

// Level is the enum of the same name.
type Level hessian.JavaEnum

const (
	novice Level = iota
	expert
)

func (*User) JavaClassName() string    { return "com.example.interop.User" }
func (*Address) JavaClassName() string { return "com.example.interop.Address" }
func (Level) JavaClassName() string    { return "com.example.interop.Level" }

var levels = []string{"NOVICE", "EXPERT"}

func (l Level) String() string { return levels[l] }

// EnumValue is how the decoder finds the value of a name.
func (Level) EnumValue(name string) hessian.JavaEnum {
	if i := slices.Index(levels, name); i >= 0 {
		return hessian.JavaEnum(i)
	}
	return hessian.InvalidJavaEnum
}

func init() {
	hessian.RegisterPOJO(&User{})
	hessian.RegisterPOJO(&Address{})
	hessian.RegisterJavaEnum(novice)
	hessian.RegisterJavaEnum(expert)
}

// List is what a list of any elements is decoded into: those of a list without a type of its own on the wire are
// assignable to nothing else. It has a name because an only parameter of type []any would get all arguments.
type List []any

// Plain implements PlainService.java as far as dubbo-go allows.
type Plain struct{ note string }

// Reference is the name of the interface.
func (*Plain) Reference() string { return plainServiceName }

func (*Plain) Greet(_ context.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
}

func (*Plain) Primitives(
	_ context.Context, a bool, b int8, c int16, d int32, e int64, f float32, g float64, h string,
) (string, error) {
	return fmt.Sprint(a, " ", b, " ", c, " ", d, " ", e, " ", f, " ", g, " ", h), nil
}

func (*Plain) Increment(_ context.Context, value int32) (int32, error) { return value + 1, nil }

func (*Plain) Next(_ context.Context, value int64) (int64, error) { return value + 1, nil }

func (*Plain) Half(_ context.Context, value float64) (float64, error) { return value / 2, nil }

func (*Plain) Not(_ context.Context, value bool) (bool, error) { return !value, nil }

func (*Plain) BoxedIncrement(_ context.Context, value *int32) (*int32, error) {
	if value == nil {
		return nil, nil
	}
	next := *value + 1
	return &next, nil
}

func (*Plain) BoxedNext(_ context.Context, value *int64) (*int64, error) {
	if value == nil {
		return nil, nil
	}
	next := *value + 1
	return &next, nil
}

func (*Plain) Reverse(_ context.Context, values List) ([]any, error) {
	slices.Reverse(values)
	return values, nil
}

func (*Plain) NextAll(_ context.Context, values List) ([]any, error) {
	for i, value := range values {
		values[i] = value.(int64) + 1
	}
	return values, nil
}

func (*Plain) Upper(_ context.Context, values List) ([]any, error) {
	for i, value := range values {
		values[i] = strings.ToUpper(value.(string))
	}
	return values, nil
}

func (*Plain) Total(_ context.Context, amounts List) (*gxbig.Decimal, error) {
	total := &gxbig.Decimal{}
	for _, amount := range amounts {
		if err := gxbig.DecimalAdd(total, amount.(*gxbig.Decimal), total); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func (*Plain) Lengths(_ context.Context, values map[any]any) (map[any]any, error) {
	lengths := map[any]any{}
	for key, value := range values {
		lengths[key] = int32(len(value.(string)))
	}
	return lengths, nil
}

func (*Plain) Names(_ context.Context, users List) (map[any]any, error) {
	names := map[any]any{}
	for _, user := range users {
		names[user.(*User).ID] = user.(*User).Name
	}
	return names, nil
}

func (*Plain) NextDay(_ context.Context, day time.Time) (time.Time, error) {
	return day.Add(24 * time.Hour), nil
}

func (*Plain) ReverseBytes(_ context.Context, bytes []byte) ([]byte, error) {
	slices.Reverse(bytes)
	return bytes, nil
}

func (*Plain) SortInts(_ context.Context, values []int32) ([]int32, error) {
	slices.Sort(values)
	return values, nil
}

func (*Plain) SortStrings(_ context.Context, values []string) ([]string, error) {
	slices.Sort(values)
	return values, nil
}

func (*Plain) Promote(_ context.Context, level Level) (Level, error) { return expert, nil }

func (*Plain) Birthday(_ context.Context, user *User) (*User, error) {
	user.Age++
	return user, nil
}

func (*Plain) Boss(_ context.Context, name string) (*User, error) {
	boss := &User{Name: name}
	boss.Manager = boss
	return boss, nil
}

func (*Plain) Echo(_ context.Context, value any) (any, error) { return value, nil }

func (*Plain) Nothing(context.Context) (*string, error) { return nil, nil }

func (p *Plain) Note(_ context.Context, text string) error {
	p.note = strings.Clone(text)
	return nil
}

func (p *Plain) Noted(context.Context) (string, error) { return p.note, nil }

func (*Plain) Fail(_ context.Context, message string, _ int32) (string, error) {
	return "", errors.New(message)
}

func (*Plain) FailUnchecked(_ context.Context, message string) (string, error) {
	return "", errors.New(message)
}
