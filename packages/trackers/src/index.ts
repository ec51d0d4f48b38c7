export { followRun, type FollowedRun, type FollowOptions } from './follow-run.js';
export { loadRunFollower, trackerNames, type TrackersConfig } from './load-run-follower.js';
export { defineTracker, type TrackedRow, type TrackedRun, type Tracker, type TrackerRegistration } from './tracker.js';
