/** The program of `rollout.workflow_processes`: a process that runs the workflows of a run. */

import type { ConfigComposition } from '@agentjet/core';
import { serveWorkflows } from '@agentjet/local-run/workflows';
import { configuration } from './registrations.js';

serveWorkflows(configuration as unknown as ConfigComposition);
