// Answers each line with System.nanoTime().
import java.io.IOException;

public class Stamp {
    public static void main(String[] arguments) throws IOException {
        for (int letter; (letter = System.in.read()) >= 0; ) {
            if (letter != '\n') continue;
            System.out.println(System.nanoTime());
            System.out.flush();
        }
    }
}
