export { serveWorkflows } from './processes/serve-workflows.js';
