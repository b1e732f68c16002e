import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;

/** Streams, channels, mappings and threads. */
public class Files {
    public static void main(String[] arguments) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile("random", "rw")) {
            for (int i = 0; i < 500; i++) {
                file.seek((i * 37 % 500) * 100L);
                file.writeLong(i);
            }
        }
        try (FileChannel channel = FileChannel.open(Path.of("mapped"), StandardOpenOption.CREATE,
                 StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer map = channel.map(FileChannel.MapMode.READ_WRITE, 0, 1 << 20);
            for (int i = 0; i < 1 << 18; i++) {
                map.putInt(i);
            }
            map.force();
            try (FileChannel to = FileChannel.open(Path.of("copied"), StandardOpenOption.CREATE,
                     StandardOpenOption.WRITE)) {
                channel.transferTo(0, channel.size(), to);
            }
        }
        try (Writer text = new OutputStreamWriter(new GZIPOutputStream(
                 new FileOutputStream("text.gz")))) {
            for (int i = 0; i < 20000; i++) {
                text.write(i + "\n");
            }
        }
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> sums = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            final int number = i;
            sums.add(pool.submit(() -> {
                Path path = Path.of("thread" + number);
                java.nio.file.Files.writeString(path, "x".repeat(10000 * (number + 1)));
                return java.nio.file.Files.readAllBytes(path).length + 0L;
            }));
        }
        for (Future<Long> sum : sums) {
            System.out.println(sum.get());
        }
        pool.shutdown();
        long checksum = 0;
        try (FileChannel channel = FileChannel.open(Path.of("random"))) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(8);
            for (int i = 0; i < 500; i++) {
                buffer.clear();
                channel.read(buffer, i * 100L);
                buffer.flip();
                checksum += i * buffer.getLong();
            }
        }
        System.out.println(checksum);
    }
}
