import { answer } from './answer/registration.js';
import { countdown } from './countdown/registration.js';
import { environment } from './environment/registration.js';
import { llm } from './llm/registration.js';
import { tests } from './tests/registration.js';

/** Every judge of this package. */
export const judges = [answer, countdown, environment, llm, tests] as const;
