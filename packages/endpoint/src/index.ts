export { RefusedFeedback, type ConversationDoor, type ServedCall } from './conversations.js';
export { findExcess } from './check-nesting.js';
export { LatestMap } from './latest-map.js';
export { readBody } from './read-body.js';
export { LoopTurns } from './loop-turns.js';
export { refuse } from './refuse.js';
export { createSession, putResponse, type EndpointSession, type StoredResponse } from './session.js';
export { createAgentApp, readKey, startEndpointServer, type EndpointServer } from './server.js';
export { serveModel } from './serve-model.js';
