export { startAgentjetWorld } from './testing/agentjet-server.js';
export { startAppworldWorld } from './testing/appworld-server.js';
export { CounterWorld } from './testing/counter-world.js';
export { environmentCases } from './testing/environment-cases.js';
export { noFaults, randomFaults, type Fault, type FaultPlan, type RequestKind } from './testing/faults.js';
export { startLocalWorld } from './testing/local-world.js';
export { startMcpWorld } from './testing/mcp-server.js';
export { startOpenenvWorld } from './testing/openenv-server.js';
export { act, type StartWorld, type WorldServer } from './testing/world-server.js';
