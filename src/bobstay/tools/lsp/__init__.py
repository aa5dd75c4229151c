"""Language servers: programs that know the meaning of code, started on first use and asked over their pipes."""
