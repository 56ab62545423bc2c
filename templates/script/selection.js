// What a reader has chosen: a node, which lights up wherever it is shown, or something to look at in the drawer.
import { chosen } from "./core.js";

export const onLight = []; // each shows the node with an id as the chosen one
let lit = null;
export const chosenNode = () => lit;
// Light a node everywhere; `quiet` leaves the address as it is.
export const lightNode = (id, { quiet = false } = {}) => {
  lit = id;
  onLight.forEach((light) => light(id));
  if (!quiet) chosen.write({ node: id });
};
export const drawers = []; // the drawer's way in, on pages that compute
// Look at {node}, all that a node gave, or at {port, at}, one number.
export const visit = (stop) => drawers.forEach((open) => open(stop));
export const follow = (part) => visit({ port: part.port, at: part.at });
