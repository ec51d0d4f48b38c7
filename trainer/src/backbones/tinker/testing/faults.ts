import type { Distortion } from './served-model.js';

/** What the server does wrong, as long as it is set. */
export type Faults = {
  /** Divides a row by its weights' sum (cross entropy) or its length, and a step by its rows. */
  averages?: boolean;
  /** Changes each row's coefficients. */
  distort?: Distortion;
  /** Takes so many requests, of this route if one is named, and never answers them. */
  hangs?: { route?: string; times: number };
  /** Tells no gradient norm. */
  hidesNorm?: boolean;
  /** Answers this many requests with the status. */
  busy?: { status: number; times: number };
  /** Says so often, when the future of this route is asked for, that it has no room for it. */
  full?: { route: string; times: number };
  /** Takes requests about a model that it has forgotten, and fails their futures: by status 400, or by an `error` in the answer. */
  failsUnloaded?: 'status' | 'error';
  /** Forgets the next future of this route after it was computed. */
  forgets?: string;
  /** Computes the next request of this route and closes the connection instead of answering. */
  drops?: string;
  /** Computes a request again that is sent again with its sequence number. */
  ignoresNumbers?: boolean;
  /** Gives every answer's rows and sequences twice. */
  doubles?: boolean;
  /** Gives logprobs that are not numbers in the next gradient. */
  notANumber?: boolean;
  /** Takes so long for each completion. */
  slowSamplesMs?: number;
  /** Refuses archives. */
  keepsWeights?: boolean;
  /** Answers so many requests for archives with 503. */
  archivesLater?: { times: number };
  /** Has one model for all, whose weights each new one goes on with. */
  sharesModel?: boolean;
  /** Makes no second model in a session. */
  onlyOneModel?: boolean;
};
