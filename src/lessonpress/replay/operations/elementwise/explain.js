// Element by element, most written as a call; arithmetic with its sign; copies as what they are copies of.
import { EXPLAIN, EXPLAIN_FAMILY, elementwise, moved, movedFrom, written } from "#page/explain.js";

EXPLAIN_FAMILY.elementwise = elementwise;
EXPLAIN.add = written(" + ", { scaled: true });
EXPLAIN.sub = written(" − ", { scaled: true });
EXPLAIN.mul = written(" × ");
EXPLAIN.div = written(" / ");
EXPLAIN.pow = written(" ^ ");
EXPLAIN.alias = moved;
EXPLAIN.clone = moved;
EXPLAIN.contiguous = moved;
EXPLAIN.copy = movedFrom(0, 1);
