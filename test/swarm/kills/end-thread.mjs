/**
 * Loaded into each thread of a server that may be killed: ends it when it is told to, between two calls of native code. A thread
 * that is terminated within one takes the whole process with it, since ONNX Runtime then throws where nobody catches.
 */
import { BroadcastChannel } from 'node:worker_threads';

const channel = new BroadcastChannel('end-threads');
channel.onmessage = () => process.exit(1);
channel.unref();
