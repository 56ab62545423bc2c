// A page that computes: its numbers can be moved, and each can be followed to what it was computed from.
import { example } from "./cases.js";
import { startDrawer } from "./drawer.js";
import "./hero.js";
import { enter } from "./machine.js";
import { startPlay } from "./sliders.js";
import { start } from "./start.js";
import { now } from "./state.js";

startDrawer();
start(() => {
  if (!example) enter(now.id);
  startPlay();
});
