// Limits of the HTTP server.

export interface HttpLimits {
  /** Largest request body that is read. */
  readonly bodyLimitBytes: number;
  /** Longest time for the request's headers to arrive: slow senders of headers hold a socket no longer. */
  readonly headersTimeoutMs: number;
  /** Longest time for the whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly keepAliveTimeoutMs: number;
  /** Longest time from the request to the response; streams have no limit. */
  readonly handlerTimeoutMs: number;
  /** Longest wait for an audit row before the response is sent without it. */
  readonly auditTimeoutMs: number;
  /** Between two heartbeats of a stream. */
  readonly heartbeatMs: number;
  /** Unread bytes at which a stream's reader counts as too slow. */
  readonly streamBufferBytes: number;
  /** Streams open at once. */
  readonly maxStreams: number;
}

export const defaultHttpLimits: HttpLimits = {
  bodyLimitBytes: 1_048_576,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  handlerTimeoutMs: 60_000,
  auditTimeoutMs: 2_000,
  heartbeatMs: 10_000,
  streamBufferBytes: 1_048_576,
  maxStreams: 256,
};

/** For the rest of a body beside the document. */
const bodySlackBytes = 1_048_576;

/** Largest body that brings a document of so many bytes: in base64 it is a third larger. */
export const documentBodyBytes = (maxDocumentBytes: number): number =>
  Math.ceil((maxDocumentBytes * 4) / 3) + bodySlackBytes;
