// The same numbers in other places; only a resized image has new ones.
import { EXPLAIN, EXPLAIN_FAMILY, moved } from "#page/explain.js";
import { recomputed } from "../creation/explain.js";

EXPLAIN_FAMILY.resampling = moved;
EXPLAIN.resize = recomputed("A weighted sum of the old elements that lie nearest to where this one would lie among them.");
