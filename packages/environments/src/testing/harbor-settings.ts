import type { HarborSettings } from '../harbor/harbor-session.js';

/** An engine that is never called. */
export const absentEngine = { name: 'podman', program: '/none', folder: null } as const;

export const harborSettings: HarborSettings = {
  guardSharedVerifier: true,
  countModelTime: false,
  commandSeconds: 60,
  outputCharacters: 1000,
  lifeSeconds: 1000,
  onNotice: () => undefined,
};
