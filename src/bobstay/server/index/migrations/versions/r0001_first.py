"""The first schema."""

from alembic import op

from bobstay.server.index import fulltext
from bobstay.server.index.tables import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    METADATA.create_all(op.get_bind())
    fulltext.prepare(op.get_bind())
