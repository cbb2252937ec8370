package com.example.interop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

class PlainServiceImpl implements PlainService {
  private volatile String note;

  @Override
  public String greet(String name) {
    return "Hello, " + name + "!";
  }

  @Override
  public String greet(String name, int times) {
    return String.join(" ", Collections.nCopies(times, greet(name)));
  }

  @Override
  public String primitives(boolean a, byte b, short c, int d, long e, float f, double g, char h) {
    return a + " " + b + " " + c + " " + d + " " + e + " " + f + " " + g + " " + h;
  }

  @Override
  public int increment(int value) {
    return value + 1;
  }

  @Override
  public long next(long value) {
    return value + 1;
  }

  @Override
  public double half(double value) {
    return value / 2;
  }

  @Override
  public boolean not(boolean value) {
    return !value;
  }

  @Override
  public Integer boxedIncrement(Integer value) {
    return value == null ? null : value + 1;
  }

  @Override
  public Long boxedNext(Long value) {
    return value == null ? null : value + 1;
  }

  @Override
  public List<String> reverse(List<String> values) {
    List<String> reversed = new ArrayList<>(values);
    Collections.reverse(reversed);
    return reversed;
  }

  @Override
  public List<Long> nextAll(List<Long> values) {
    List<Long> result = new ArrayList<>();
    for (Long value : values) result.add(value + 1);
    return result;
  }

  @Override
  public Set<String> upper(Set<String> values) {
    Set<String> result = new TreeSet<>();
    for (String value : values) result.add(value.toUpperCase());
    return result;
  }

  @Override
  public Map<String, Integer> lengths(Map<String, String> values) {
    Map<String, Integer> result = new HashMap<>();
    values.forEach((key, value) -> result.put(key, value.length()));
    return result;
  }

  @Override
  public Map<Long, String> names(List<User> users) {
    Map<Long, String> result = new HashMap<>();
    for (User user : users) result.put(user.getId(), user.getName());
    return result;
  }

  @Override
  public Date nextDay(Date day) {
    return new Date(day.getTime() + 86_400_000);
  }

  @Override
  public byte[] reverseBytes(byte[] bytes) {
    byte[] reversed = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) reversed[bytes.length - 1 - i] = bytes[i];
    return reversed;
  }

  @Override
  public int[] sortInts(int[] values) {
    int[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted;
  }

  @Override
  public String[] sortStrings(String[] values) {
    String[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted;
  }

  @Override
  public BigDecimal total(List<BigDecimal> amounts) {
    BigDecimal total = BigDecimal.ZERO;
    for (BigDecimal amount : amounts) total = total.add(amount);
    return total;
  }

  @Override
  public Level promote(Level level) {
    return level == Level.NOVICE ? Level.EXPERT : level;
  }

  @Override
  public User birthday(User user) {
    user.setAge(user.getAge() + 1);
    return user;
  }

  @Override
  public User boss(String name) {
    User boss = new User();
    boss.setName(name);
    boss.setManager(boss);
    return boss;
  }

  @Override
  public Object echo(Object value) {
    return value;
  }

  @Override
  public String nothing() {
    return null;
  }

  @Override
  public void note(String text) {
    note = text;
  }

  @Override
  public String noted() {
    return note;
  }

  @Override
  public String fail(String message, int reason) throws PlainException {
    throw new PlainException(message, reason);
  }

  @Override
  public String failUnchecked(String message) {
    throw new IllegalStateException(message);
  }
}
