export { startEndpointServer, type EndpointOptions, type EndpointServer } from './server.js';
