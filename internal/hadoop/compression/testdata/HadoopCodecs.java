import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.CompressionCodecFactory;

/**
 * Writes the files of this directory with Hadoop's codecs, without native libraries:
 *
 *   java -cp CLASSPATH HadoopCodecs.java .
 *
 * CLASSPATH has hadoop-common 3.4 with its dependencies, snappy-java and lz4-java.
 * With further arguments, prints the length and the hash of what Hadoop reads from each of these files.
 */
public class HadoopCodecs {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    // Chunks are smaller than what is written at once, so that blocks have several.
    conf.set("io.compression.codec.snappy.buffersize", "4096");
    conf.set("io.compression.codec.lz4.buffersize", "4096");
    if (args.length > 1) {
      CompressionCodecFactory codecs = new CompressionCodecFactory(new Configuration());
      for (int i = 1; i < args.length; i++) {
        Path path = new Path(args[i]);
        byte[] content = codecs.getCodec(path).createInputStream(new FileInputStream(args[i])).readAllBytes();
        System.out.println(args[i] + " " + content.length + " " + Arrays.hashCode(content));
      }
      return;
    }
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 3000; i++) {
      text.append("line ").append(i * 7919L % 3000).append('\n');
    }
    StringBuilder numbers = new StringBuilder();
    for (int i = 0; i < 500000; i++) { // three blocks of bzip2
      numbers.append(i % 1000).append('\n');
    }
    CompressionCodecFactory codecs = new CompressionCodecFactory(conf);
    for (Map.Entry<String, StringBuilder> file : Map.of(
        "text.gz", text, "text.deflate", text, "text.snappy", text, "text.lz4", text,
        "numbers.bz2", numbers, "empty.snappy", new StringBuilder(), "empty.lz4", new StringBuilder(),
        "empty.bz2", new StringBuilder()).entrySet()) {
      byte[] content = file.getValue().toString().getBytes(StandardCharsets.US_ASCII);
      Path path = new Path(args[0], file.getKey());
      try (OutputStream out = codecs.getCodec(path).createOutputStream(new FileOutputStream(path.toString()))) {
        int third = content.length / 3; // one large write, and small ones
        out.write(content, 0, third);
        for (int at = third; at < content.length; at += 1000) {
          out.write(content, at, Math.min(1000, content.length - at));
        }
      }
    }
  }
}
