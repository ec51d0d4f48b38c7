import { plainDriver } from '@agentjet/adapter-kit/testing';
import { asModel } from '@agentjet/react';

/** The driver of the React adapter, whose model is ChatModel itself. */
export const reactDriver: typeof plainDriver = { ...plainDriver, name: 'react', asModel };
