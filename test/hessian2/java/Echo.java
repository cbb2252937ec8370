import com.alibaba.com.caucho.hessian.io.Hessian2Input;
import com.alibaba.com.caucho.hessian.io.SerializerFactory;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.util.HexFormat;

/** Decodes each line of hexadecimal Hessian 2, and prints the class that Dubbo's decoder makes of it, and its text. */
public class Echo {
  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      try {
        Hessian2Input input = new Hessian2Input(new ByteArrayInputStream(HexFormat.of().parseHex(line)));
        input.setSerializerFactory(new SerializerFactory());
        Object value = input.readObject();
        System.out.println(value == null ? "null" : value.getClass().getName() + " " + value);
        if (value instanceof Throwable) ((Throwable) value).printStackTrace(System.out);
      } catch (Throwable failure) {
        System.out.println("failed: " + failure);
      }
    }
  }
}
