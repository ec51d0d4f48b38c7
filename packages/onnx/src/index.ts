export type { InferenceSession, Tensor } from 'onnxruntime-node';
export { openSession, runInto, toTensor, unreturnedOutput, type OnnxSessionOptions } from './session.js';
