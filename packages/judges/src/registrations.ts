import { answer } from './answer/registration.js';
import { combine } from './combined/registration.js';
import { countdown } from './countdown/registration.js';
import { environment } from './environment/registration.js';
import { llm } from './llm/registration.js';
import { rubrics } from './rubrics/registration.js';
import { scorer } from './scorer/registration.js';
import { tests } from './tests/registration.js';

/** The judges that may be parts of a combined one. */
export const singleJudges = [answer, countdown, environment, llm, rubrics, scorer, tests] as const;

/** All judges of this package. */
export const namedJudges = [...singleJudges, combine(singleJudges)] as const;
