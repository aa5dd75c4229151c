"""All tables of the server, as SQLAlchemy Core sees them. Other packages add theirs to `METADATA`."""

from sqlalchemy import MetaData

METADATA = MetaData()
