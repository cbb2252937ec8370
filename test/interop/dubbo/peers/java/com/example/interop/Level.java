package com.example.interop;

public enum Level {
  NOVICE,
  EXPERT
}
