import { combined } from './combined/registration.js';
import { singleJudges } from './single-judges.js';

/** All judges of this package. */
export const namedJudges = [...singleJudges, combined] as const;
