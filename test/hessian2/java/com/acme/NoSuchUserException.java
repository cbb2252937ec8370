package com.acme;

public class NoSuchUserException extends RuntimeException {
  public int userId;

  public NoSuchUserException(String message, int userId) {
    super(message);
    this.userId = userId;
  }
}
