package com.acme;

import java.io.Serializable;
import java.util.List;

public class User implements Serializable {
  public String name;
  public int age;
  public Long id;
  public List<User> friends;

  public User() {}

  public User(String name, int age) {
    this.name = name;
    this.age = age;
  }
}
