package com.example.interop;

import java.math.BigDecimal;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A service as Java teams write them: an interface, without IDL. */
public interface PlainService {
  String greet(String name);

  String greet(String name, int times);

  String primitives(boolean a, byte b, short c, int d, long e, float f, double g, char h);

  int increment(int value);

  long next(long value);

  double half(double value);

  boolean not(boolean value);

  /** Null for null. */
  Integer boxedIncrement(Integer value);

  /** Null for null. */
  Long boxedNext(Long value);

  List<String> reverse(List<String> values);

  List<Long> nextAll(List<Long> values);

  Set<String> upper(Set<String> values);

  Map<String, Integer> lengths(Map<String, String> values);

  Map<Long, String> names(List<User> users);

  Date nextDay(Date day);

  byte[] reverseBytes(byte[] bytes);

  int[] sortInts(int[] values);

  String[] sortStrings(String[] values);

  BigDecimal total(List<BigDecimal> amounts);

  Level promote(Level level);

  User birthday(User user);

  /** A user who is their own manager. */
  User boss(String name);

  /** Returns its argument. */
  Object echo(Object value);

  String nothing();

  void note(String text);

  String noted();

  String fail(String message, int reason) throws PlainException;

  String failUnchecked(String message);
}
