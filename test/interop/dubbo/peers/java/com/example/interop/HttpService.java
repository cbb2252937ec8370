package com.example.interop;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/**
 * The service of the matrix for sub-protocol A. Dubbo 3.3.6 finds no method of a stub whose name begins with a capital in the
 * proto file, and routes none to it; so the argument is wrapped in an implementation of the generated interface.
 */
final class HttpService {
  static PeerService of(PeerService stub) {
    Class<?>[] interfaces = {PeerService.class};
    return (PeerService) Proxy.newProxyInstance(stub.getClass().getClassLoader(), interfaces, (proxy, method, args) -> {
      try {
        return method.invoke(stub, args);
      } catch (InvocationTargetException error) {
        throw error.getCause();
      }
    });
  }

  private HttpService() {}
}
