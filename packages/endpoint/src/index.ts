export { createSession, type EndpointSession } from './session.js';
export {
  createAgentApp,
  readKey,
  startEndpointServer,
  type Authenticate,
  type EndpointOptions,
  type EndpointServer,
} from './server.js';
export { serveModel, type ModelServer, type ServeOptions } from './serve-model.js';
