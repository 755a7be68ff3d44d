// Core: the vocabulary of everything else. No I/O.
export * from './abort.ts';
export * from './clock.ts';
export * from './errors.ts';
export * from './http.ts';
export * from './ids.ts';
export * from './jobs.ts';
export * from './language-model.ts';
export * from './options.ts';
export { plainValue, Redactor } from './redaction.ts';
export * from './slot-list.ts';
export * from './system.ts';
export * from './telemetry.ts';
export * from './text.ts';
