// The same numbers in other places.
import { EXPLAIN_FAMILY, moved } from "#page/explain.js";

EXPLAIN_FAMILY.shapes = moved;
