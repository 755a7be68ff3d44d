// What came back from a call.

/** Any answer, whatever its status. Of a refusal only the first part of the body is kept. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** The call as messages name it: without query, which may hold secrets. */
  readonly label: string;
}
