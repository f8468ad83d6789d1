// Indexes texts with Lucene's StandardAnalyzer and searches them by BM25: what Elasticsearch, OpenSearch and
// Solr do by default. Lines in: "D", then Base64 of a text, for a text; "Q", then that of a word, for a
// query; "E" ends a collection. Lines out, one a query: the numbers of the texts of its collection that score
// above 0.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.util.QueryBuilder;

public class Search {
  public static void main(String[] arguments) throws Exception {
    var texts = new ArrayList<String>();
    var words = new ArrayList<String>();
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.equals("E")) {
        search(texts, words);
        texts.clear();
        words.clear();
        continue;
      }
      String text = new String(Base64.getDecoder().decode(line.substring(1)), StandardCharsets.UTF_8);
      (line.charAt(0) == 'D' ? texts : words).add(text);
    }
  }

  private static void search(List<String> texts, List<String> words) throws Exception {
    var analyzer = new StandardAnalyzer();
    try (var folder = new ByteBuffersDirectory()) {
      try (var writer = new IndexWriter(folder, new IndexWriterConfig(analyzer))) {
        for (String text : texts) {
          var document = new Document();
          document.add(new TextField("text", text, Field.Store.NO));
          writer.addDocument(document);
        }
        writer.forceMerge(1);
      }
      try (var reader = DirectoryReader.open(folder)) {
        var searcher = new IndexSearcher(reader);
        var out = new StringBuilder();
        for (String word : words) {
          Query query = new QueryBuilder(analyzer).createBooleanQuery("text", word);
          if (query != null) {
            for (ScoreDoc hit : searcher.search(query, texts.size()).scoreDocs) {
              if (hit.score > 0) out.append(hit.doc).append(' ');
            }
          }
          out.append('\n');
        }
        System.out.print(out);
      }
    }
  }
}
