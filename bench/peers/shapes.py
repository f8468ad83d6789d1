"""What both services of this folder take and answer."""

from pydantic import BaseModel


class Doc(BaseModel):
    id: str
    text: str


class RankedDoc(Doc):
    dense_score: float
    bm25_score: float
    fused_score: float
    rank: int
