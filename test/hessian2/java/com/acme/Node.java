package com.acme;

import java.io.Serializable;

public class Node implements Serializable {
  public Node next;
}
