import io.grpc.testing.integration.TestServiceClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * Runs cases with the client of grpc-java, one after the other, because a start of Java takes longer than most of them. A line of the input
 * has the arguments of the client. The answer is "passed" or the stack of the exception, and then "done".
 */
public class Cases {
  public static void main(String[] none) throws IOException {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("done");
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      try {
        TestServiceClient.main(line.split(" "));
        System.out.println("passed");
      } catch (Throwable failure) {
        failure.printStackTrace(System.out);
      }
      System.out.println("done");
    }
  }
}
