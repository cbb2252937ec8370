package com.example.interop;

/** A checked exception with a field of its own. */
public class PlainException extends Exception {
  private int reason;

  public PlainException() {}

  public PlainException(String message, int reason) {
    super(message);
    this.reason = reason;
  }

  public int getReason() {
    return reason;
  }

  public void setReason(int reason) {
    this.reason = reason;
  }
}
