export { openAgentjet } from './agentjet/agentjet-environment.js';
export { openMcp } from './mcp/mcp-environment.js';
export { openOpenenv } from './openenv/openenv-environment.js';
