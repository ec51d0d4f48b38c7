export { startEndpointServer, type EndpointOptions, type EndpointServer } from './server.js';
export { serveModel, type ModelServer, type ServeOptions } from './serve-model.js';
