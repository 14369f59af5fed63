import java.io.File;
import java.util.Locale;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;

/** Prints each histogram of a log as one line of JSON: its tag, count, quantiles and maximum. */
public final class ReadLog {
    private static final double[] PERCENTILES = {50, 90, 95, 99, 99.9, 99.99};

    public static void main(String[] arguments) throws Exception {
        try (HistogramLogReader reader = new HistogramLogReader(new File(arguments[0]))) {
            EncodableHistogram next;
            while ((next = reader.nextIntervalHistogram()) != null) {
                System.out.println(describe((Histogram) next));
            }
        }
    }

    private static String describe(Histogram histogram) {
        StringBuilder line = new StringBuilder();
        line.append(String.format(Locale.ROOT, "{\"tag\":\"%s\",\"count\":%d",
                histogram.getTag(), histogram.getTotalCount()));
        for (double percentile : PERCENTILES) {
            String name = "p" + (percentile == Math.rint(percentile) ? "%.0f" : "%s");
            line.append(String.format(Locale.ROOT, ",\"" + name + "\":%d",
                    percentile, histogram.getValueAtPercentile(percentile)));
        }
        return line.append(String.format(Locale.ROOT, ",\"max\":%d}", histogram.getMaxValue())).toString();
    }
}
