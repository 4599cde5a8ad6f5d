// The client of memd, the memory daemon for local AI agents.

import { HINTS } from "./codes.js";

export { Client } from "./client.js";
export { MemdError } from "./errors.js";
export { socketPath } from "./discovery.js";
export { labelledHit, OUTSIDE_NOTICE, outsideBlock, textOfGet } from "./outside.js";
export { REQUESTS } from "./requests.js";
export { CLIENT_VERSION, PROTOCOL_VERSION } from "./session.js";
export { packVectors, unpackVectors } from "./values.js";

/** All error codes. */
export const ERROR_CODES = Object.freeze(Object.keys(HINTS));
