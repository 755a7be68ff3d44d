// Stops a server without dropping what it has begun.
import type { FastifyInstance } from 'fastify';

export interface DrainReport {
  /** Requests that were still under way when the grace was over, and were cut off. */
  readonly cutOff: number;
}

/**
 * New requests get 503 at once, streams are ended, requests under way may finish for `graceMs`; then everything is
 * closed. Safe to call twice.
 */
export async function drain(server: FastifyInstance, graceMs: number): Promise<DrainReport> {
  const { traffic, openStreams } = server;
  traffic.stopTaking();
  openStreams.finishAll();
  server.server.closeIdleConnections();
  await traffic.idle(graceMs);
  const cutOff = traffic.underWay;
  await server.close();
  return { cutOff };
}
