// ReadFiles prints the records of files, with Hadoop's and Avro's own readers: each file's
// name without its directory's parent, then a line for each record.
//
//	java ReadFiles.java FILE...
//
// A file is an Avro container file if its name ends in .avro, else a SequenceFile.

import java.io.File;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.util.ReflectionUtils;

public class ReadFiles {
  static void avro(File file) throws Exception {
    try (DataFileReader<Object> reader = new DataFileReader<>(file, new GenericDatumReader<>())) {
      for (Object record : reader) {
        System.out.println(record);
      }
    }
  }

  static void sequence(File file) throws Exception {
    Configuration conf = new Configuration();
    try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, SequenceFile.Reader.file(new Path(file.toURI())))) {
      Writable key = (Writable) ReflectionUtils.newInstance(reader.getKeyClass(), conf);
      Writable value = (Writable) ReflectionUtils.newInstance(reader.getValueClass(), conf);
      while (reader.next(key, value)) {
        System.out.println(key + "\t" + value);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    for (String name : args) {
      File file = new File(name);
      System.out.println(file.getParentFile().getName());
      if (name.endsWith(".avro")) {
        avro(file);
      } else {
        sequence(file);
      }
    }
  }
}
