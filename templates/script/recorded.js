// A page that shows recorded values only: nothing is computed.
import { start } from "./start.js";

start(() => {});
