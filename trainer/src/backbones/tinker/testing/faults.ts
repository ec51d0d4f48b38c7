import type { Distortion } from './served-model.js';

/** The faults of the test server. Each fault lasts while it is set. */
export type Faults = {
  /** Divides the loss of a row by the sum of its weights (cross entropy) or by its length, and a step by its rows. */
  averages?: boolean;
  /** Changes each row's coefficients. */
  distort?: Distortion;
  /** Accepts this many requests, of this route if one is named, and never answers them. */
  hangs?: { route?: string; times: number };
  /** Reports no gradient norm. */
  hidesNorm?: boolean;
  /** Answers this many requests with the status. */
  busy?: { status: number; times: number };
  /** Answers this many requests for a future of this route with the message that the server has no room. */
  full?: { route: string; times: number };
  /**
   * Accepts requests for a model that the server has forgotten. Their futures fail with status 400, or with an `error`
   * in the answer.
   */
  failsUnloaded?: 'status' | 'error';
  /** Forgets the next future of this route after it was computed. */
  forgets?: string;
  /** Computes the next request of this route and closes the connection instead of answering. */
  drops?: string;
  /** Computes a repeated request again even if it has the same sequence number. */
  ignoresNumbers?: boolean;
  /** Repeats the rows and sequences of every answer. */
  doubles?: boolean;
  /** Gives logprobs that are not numbers in the next gradient. */
  notANumber?: boolean;
  /** The time that each completion takes. */
  slowSamplesMs?: number;
  /** Refuses archives. */
  keepsWeights?: boolean;
  /** Answers this many requests for archives with 503. */
  archivesLater?: { times: number };
  /** Has only one set of weights, so each new model continues with the weights of the one before. */
  sharesModel?: boolean;
  /** Refuses to create a second model in a session. */
  onlyOneModel?: boolean;
};
