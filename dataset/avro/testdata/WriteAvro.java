// WriteAvro writes the .avro files of this directory with Avro for Java:
//
//	java -cp "$PYSPARK/jars/*" WriteAvro.java DIRECTORY
//
// PYSPARK is the directory of package pyspark 4.3.0, which has Avro 1.12.1 and its codecs.

import java.io.File;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Conversions;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.file.CodecFactory;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;

public class WriteAvro {
  static final String SCHEMA = """
      {"type": "record", "name": "Trip", "namespace": "org.example", "doc": "All types.", "fields": [
        {"name": "id", "type": "int"},
        {"name": "skipped", "type": ["null", "Trip"], "default": null},
        {"name": "far", "type": "long"},
        {"name": "ratio", "type": "float"},
        {"name": "exact", "type": "double"},
        {"name": "done", "type": "boolean"},
        {"name": "name", "type": "string"},
        {"name": "data", "type": "bytes"},
        {"name": "mood", "type": {"type": "enum", "name": "Mood", "symbols": ["HAPPY", "SAD"]}},
        {"name": "moodBefore", "type": "Mood"},
        {"name": "key", "type": {"type": "fixed", "name": "Key", "size": 4}},
        {"name": "maybe", "type": ["null", "string"]},
        {"name": "maybeLast", "type": ["long", "null"]},
        {"name": "either", "type": ["null", "long", "string"]},
        {"name": "list", "type": {"type": "array", "items": ["null", "int"]}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "home", "type": {"type": "record", "name": "Place", "fields": [
          {"name": "city", "type": "string"}, {"name": "zip", "type": ["null", "string"]}]}},
        {"name": "places", "type": {"type": "array", "items": "Place"}},
        {"name": "next", "type": ["null", "Trip"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "micros", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "took", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "cost", "type": {"type": "fixed", "name": "Cost", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 3}},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}}
      ]}""";

  static final Schema TRIP = new Schema.Parser().parse(SCHEMA);

  static Schema type(String field) {
    return TRIP.getField(field).schema();
  }

  static GenericRecord place(String city, String zip) {
    GenericRecord r = new GenericData.Record(type("home"));
    r.put("city", city);
    r.put("zip", zip);
    return r;
  }

  static GenericRecord trip(int i, boolean next) {
    GenericRecord r = new GenericData.Record(TRIP);
    r.put("id", i);
    r.put("skipped", next ? trip(-1, false) : null);
    r.put("far", 1L << 40 | i);
    r.put("ratio", i / 4f);
    r.put("exact", i / 3.0);
    r.put("done", i % 2 == 1);
    r.put("name", "trip \u00e4 " + i);
    r.put("data", ByteBuffer.wrap(new byte[] {0, (byte) i}));
    r.put("mood", new GenericData.EnumSymbol(type("mood"), i % 2 == 0 ? "HAPPY" : "SAD"));
    r.put("moodBefore", new GenericData.EnumSymbol(type("mood"), "SAD"));
    r.put("key", new GenericData.Fixed(type("key"), new byte[] {1, 2, 3, (byte) i}));
    r.put("maybe", i % 3 == 0 ? null : "maybe " + i);
    r.put("maybeLast", i % 3 == 0 ? null : (long) i);
    r.put("either", i % 2 == 0 ? (Object) (long) i : "text " + i);
    r.put("list", Arrays.asList(i, null, i + 1));
    Map<String, Long> counts = new HashMap<>();
    counts.put("a", (long) i);
    counts.put("b", -1L);
    r.put("counts", counts);
    r.put("home", place("Berlin", null));
    r.put("places", List.of(place("Paris", "75001"), place("Rome", null)));
    r.put("next", next ? trip(i + 100, false) : null);
    r.put("day", 20_000 + i);
    r.put("millis", 1_700_000_000_123L + i);
    r.put("micros", i % 3 == 0 ? null : 1_700_000_000_123_456L + i);
    r.put("local", 1_700_000_000_123_456L + i);
    r.put("took", 3_723_004 + i);
    Conversions.DecimalConversion decimals = new Conversions.DecimalConversion();
    r.put("price", decimals.toBytes(BigDecimal.valueOf(-1250 - i, 2), type("price"), LogicalTypes.decimal(10, 2)));
    r.put("cost", decimals.toFixed(new BigDecimal("12345678901234567.125"), type("cost"), LogicalTypes.decimal(20, 3)));
    r.put("uuid", "123e4567-e89b-12d3-a456-42661417400" + i % 10);
    return r;
  }

  public static void main(String[] args) throws Exception {
    for (String codec : new String[] {"null", "deflate", "snappy", "zstandard", "bzip2", "xz"}) {
      try (DataFileWriter<GenericRecord> writer = new DataFileWriter<>(new GenericDatumWriter<GenericRecord>(TRIP))) {
        writer.setCodec(CodecFactory.fromString(codec)).setSyncInterval(600);
        writer.create(TRIP, new File(args[0], codec + ".avro"));
        for (int i = 0; i < 8; i++) {
          writer.append(trip(i, i % 2 == 0));
        }
      }
    }
  }
}
