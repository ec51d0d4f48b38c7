export { followRun, type FollowedRun, type FollowOptions } from './follow-run.js';
export { defineTracker, type TrackedRow, type TrackedRun, type Tracker, type TrackerRegistration } from './tracker.js';
