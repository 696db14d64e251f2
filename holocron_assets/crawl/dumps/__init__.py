"""XML exports of a wiki: read as a stream, with bounded memory."""
