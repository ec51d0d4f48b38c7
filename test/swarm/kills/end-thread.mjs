/**
 * This file is loaded into each thread of a server that may be killed. It ends the thread on request, between two calls
 * of native code. If a thread is terminated inside a native call, ONNX Runtime throws an error that nothing catches,
 * and the whole process ends.
 */
import { BroadcastChannel } from 'node:worker_threads';

const channel = new BroadcastChannel('end-threads');
channel.onmessage = () => process.exit(1);
channel.unref();
