import { agentjet } from './agentjet/registration.js';
import { appworld } from './appworld/registration.js';
import { envService } from './env-service/registration.js';
import { harbor, harborTasks } from './harbor/registration.js';
import { mcp } from './mcp/registration.js';
import { openenv } from './openenv/registration.js';

/** Every environment of this package. */
export const environments = [agentjet, openenv, mcp, appworld, harbor] as const;
/** Every task reader of this package. */
export const worldReaders = [envService, harborTasks] as const;
