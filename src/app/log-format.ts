// What a log line on standard error looks like.
import type { Config } from '../config/index.ts';

/** Unless one was asked for: readable on a terminal, JSON elsewhere. */
export function logFormat({ logging }: Config, isTerminal: boolean): 'json' | 'pretty' {
  if (logging.format !== 'auto') return logging.format;
  return isTerminal ? 'pretty' : 'json';
}
