"""pgvector: the nearest rows of PostgreSQL, fused with BM25. Run: python examples/pgvector.py

Needs: pip install ./clients/python "psycopg[binary]", DATABASE_URL, and the extension vector there
"""

import os

import psycopg
from fusegate import Fusegate

server = os.environ.get("FUSEGATE_URL", "http://127.0.0.1:8080")
nearest = """
    SELECT id, body, 1 - (embedding <=> %(vector)s) FROM passages ORDER BY embedding <=> %(vector)s LIMIT 100
"""
with psycopg.connect(os.environ["DATABASE_URL"]) as database, Fusegate(server) as client:
    database.execute("CREATE EXTENSION IF NOT EXISTS vector")
    database.execute("CREATE TEMPORARY TABLE passages (id text PRIMARY KEY, body text, embedding vector(3))")
    database.execute("""
        INSERT INTO passages VALUES
            ('hours', 'Opening hours: 10 to 18, Tuesday to Sunday.', '[0.2, 0.8, 0.3]'),
            ('closed', 'The museum is closed on Mondays.', '[0.1, 0.9, 0.2]'),
            ('tickets', 'Tickets are sold until 17:30.', '[0.7, 0.1, 0.6]')
    """)
    # The vector of the question comes from the model that made those of the rows.
    rows = database.execute(nearest, {"vector": "[0.18, 0.82, 0.3]"}).fetchall()
    docs = [{"id": name, "text": body, "dense_score": similarity} for name, body, similarity in rows]
    for each in client.fuse("which day is it closed", docs).results:
        print(f"{each.rank}. {each.id} {each.dense_score:.3f} {each.fused_score:.3f} {each.text}")
