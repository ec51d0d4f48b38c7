import { answer } from './answer/registration.js';
import { countdown } from './countdown/registration.js';

/** Every judge of this package. */
export const judges = [answer, countdown] as const;
