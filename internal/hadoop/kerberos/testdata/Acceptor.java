import java.security.PrivilegedExceptionAction;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Scanner;
import javax.security.auth.Subject;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSCredential;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.MessageProp;
import org.ietf.jgss.Oid;

/**
 * The server's side of a GSSAPI context, as a JDK has it. Arguments are the service's
 * principal and keytab. Each line of the input is a command with a token in hexadecimal:
 * "accept TOKEN" prints the answer, "wrap TEXT" and "seal TEXT" print a message,
 * "unwrap TOKEN" prints the text and whether it was sealed.
 */
public class Acceptor {
    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        options.put("useKeyTab", "true");
        options.put("storeKey", "true");
        options.put("isInitiator", "false");
        options.put("principal", args[0]);
        options.put("keyTab", args[1]);
        AppConfigurationEntry entry = new AppConfigurationEntry(
                "com.sun.security.auth.module.Krb5LoginModule", AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options);
        LoginContext login = new LoginContext("acceptor", new Subject(), null, new Configuration() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                return new AppConfigurationEntry[] {entry};
            }
        });
        login.login();
        Subject.doAs(login.getSubject(), (PrivilegedExceptionAction<Void>) () -> {
            serve();
            return null;
        });
    }

    private static void serve() throws Exception {
        GSSManager manager = GSSManager.getInstance();
        GSSContext context = manager.createContext(
                manager.createCredential(null, GSSCredential.INDEFINITE_LIFETIME, new Oid("1.2.840.113554.1.2.2"), GSSCredential.ACCEPT_ONLY));
        HexFormat hex = HexFormat.of();
        Scanner input = new Scanner(System.in);
        while (input.hasNextLine()) {
            String[] words = input.nextLine().split(" ");
            byte[] bytes = hex.parseHex(words[1]);
            switch (words[0]) {
                case "accept" -> System.out.println(hex.formatHex(context.acceptSecContext(bytes, 0, bytes.length)));
                case "wrap", "seal" ->
                    System.out.println(hex.formatHex(context.wrap(bytes, 0, bytes.length, new MessageProp(0, words[0].equals("seal")))));
                case "unwrap" -> {
                    MessageProp properties = new MessageProp(0, false);
                    byte[] text = context.unwrap(bytes, 0, bytes.length, properties);
                    System.out.println(hex.formatHex(text) + " " + properties.getPrivacy());
                }
                default -> throw new IllegalArgumentException(words[0]);
            }
        }
    }
}
