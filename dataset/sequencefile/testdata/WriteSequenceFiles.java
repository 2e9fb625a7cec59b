// WriteSequenceFiles writes the files of this directory with Hadoop's own classes:
//
//	java -cp "$JARS" WriteSequenceFiles.java DIRECTORY
//
// JARS are the jars of Hadoop 3.4.3's client, as integration/cluster/pom.xml resolves them. For lz4, they
// are those of package pyspark 4.3.0, which have Hadoop 3.5.0 and lz4-java. Hadoop writes no gzip and zstd without its
// native library.

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.*;
import org.apache.hadoop.io.SequenceFile.CompressionType;
import org.apache.hadoop.io.SequenceFile.Writer;
import org.apache.hadoop.io.compress.*;
import org.apache.hadoop.util.ReflectionUtils;

public class WriteSequenceFiles {
  static final Configuration CONF = new Configuration();
  static String directory;

  interface Pair {
    Writable[] of(int i);
  }

  static void write(String name, CompressionType type, Class<? extends CompressionCodec> codec, int n, Pair pair) throws Exception {
    Path path = new Path("file://" + directory + "/" + name);
    Writable[] first = pair.of(0);
    SequenceFile.Metadata metadata = new SequenceFile.Metadata();
    metadata.set(new Text("made by"), new Text("Hadoop"));
    try (Writer writer = SequenceFile.createWriter(CONF, Writer.file(path), Writer.keyClass(first[0].getClass()),
        Writer.valueClass(first[1].getClass()), Writer.syncInterval(200), Writer.metadata(metadata),
        codec == null ? Writer.compression(type) : Writer.compression(type, ReflectionUtils.newInstance(codec, CONF)))) {
      for (int i = 0; i < n; i++) {
        Writable[] kv = pair.of(i);
        writer.append(kv[0], kv[1]);
      }
    }
  }

  static Text text(int i) {
    return new Text("value \u00e4 " + i + (i % 10 == 9 ? " x".repeat(100) : ""));
  }

  public static void main(String[] args) throws Exception {
    directory = new java.io.File(args[0]).getCanonicalPath();
    CONF.setInt("io.seqfile.compress.blocksize", 300);
    CONF.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
    Pair counted = i -> new Writable[] {new LongWritable((long) i << 33), text(i)};
    write("none", CompressionType.NONE, null, 40, counted);
    write("record-default", CompressionType.RECORD, DefaultCodec.class, 40, counted);
    write("block-default", CompressionType.BLOCK, DefaultCodec.class, 40, counted);
    write("block-deflate", CompressionType.BLOCK, DeflateCodec.class, 40, counted);
    write("block-bzip2", CompressionType.BLOCK, BZip2Codec.class, 40, counted);
    write("record-snappy", CompressionType.RECORD, SnappyCodec.class, 40, counted);
    write("block-snappy", CompressionType.BLOCK, SnappyCodec.class, 40, counted);
    write("record-lz4", CompressionType.RECORD, Lz4Codec.class, 40, counted);
    write("block-lz4", CompressionType.BLOCK, Lz4Codec.class, 40, counted);

    byte[] bytes = {0, -1, 2};
    write("bytes-int", CompressionType.NONE, null, 3, i -> new Writable[] {new BytesWritable(bytes), new IntWritable(-i)});
    write("null-text", CompressionType.BLOCK, DefaultCodec.class, 3, i -> new Writable[] {NullWritable.get(), text(i)});
    write("null-text-snappy", CompressionType.BLOCK, SnappyCodec.class, 3, i -> new Writable[] {NullWritable.get(), text(i)});
    write("float-double", CompressionType.NONE, null, 3, i -> new Writable[] {new FloatWritable(i / 2f), new DoubleWritable(i / 3.0)});
    write("boolean-null", CompressionType.RECORD, DefaultCodec.class, 3, i -> new Writable[] {new BooleanWritable(i == 1), NullWritable.get()});
    write("vint", CompressionType.NONE, null, 3, i -> new Writable[] {new VIntWritable(i), new Text()});
    write("empty", CompressionType.BLOCK, DefaultCodec.class, 0, counted);
  }
}
