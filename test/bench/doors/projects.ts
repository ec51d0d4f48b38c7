import type { DoorProject } from './door-project.js';
import { bundlerProjects } from './projects/bundler-projects.js';
import { installProjects } from './projects/install-projects.js';
import { judgeProjects } from './projects/judge-projects.js';
import { messageProjects } from './projects/message-projects.js';
import { runnerProjects } from './projects/runner-projects.js';
import { typeProjects } from './projects/type-projects.js';

export const projects: readonly DoorProject[] = [
  ...typeProjects,
  ...installProjects,
  ...bundlerProjects,
  ...runnerProjects,
  ...judgeProjects,
  ...messageProjects,
];
