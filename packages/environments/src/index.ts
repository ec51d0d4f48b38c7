export { openAgentjet, type AgentjetOptions } from './agentjet/agentjet-environment.js';
export { openAppworld, type AppworldOptions } from './appworld/appworld-environment.js';
export { openMcp, type McpOptions, type McpServer } from './mcp/mcp-environment.js';
export { openOpenenv, type OpenenvOptions } from './openenv/openenv-environment.js';
