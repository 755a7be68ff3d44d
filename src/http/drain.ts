// Stops a server without dropping what it has begun.
import type { FastifyInstance } from 'fastify';

export interface DrainReport {
  /** Requests that were still under way when the grace was over, and were cut off. */
  readonly cutOff: number;
}

/** What is cut off gets this long to say so. */
const lastWordsMs = 500;

/**
 * New requests get 503 at once, streams are ended, requests under way may finish for `graceMs`; then those that can are
 * ended with an error, and everything is closed. Safe to call twice.
 */
export async function drain(server: FastifyInstance, graceMs: number): Promise<DrainReport> {
  const { traffic, openStreams } = server;
  traffic.stopTaking();
  openStreams.finishAll();
  server.server.closeIdleConnections();
  await traffic.idle(graceMs);
  const cutOff = traffic.underWay;
  traffic.cutOff();
  await traffic.idle(lastWordsMs);
  await server.close();
  return { cutOff };
}
