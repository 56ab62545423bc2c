// Derivatives: the rule in words.
import { EXPLAIN_FAMILY } from "#page/explain.js";
import { recomputed } from "../creation/explain.js";

EXPLAIN_FAMILY.gradients = recomputed("A step on the way back through the model: what arrives, times the derivative of the operation.");
