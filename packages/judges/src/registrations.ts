import { combined } from './combined/registration.js';
import { singleJudges } from './single-judges.js';

/** Every judge of this package. */
export const namedJudges = [...singleJudges, combined] as const;
