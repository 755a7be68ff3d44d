// The names of admission's keys in Redis, as the founding document has them; a full name has the connection's prefix.

export interface SlotKeys {
  readonly global: string;
  readonly epoch: string;
  /** Organizations that may hold slots or cached limits: spares a search through all keys of the server. */
  readonly organizations: string;
  readonly servers: string;
  /** What comes before the id, which is the rest of the name whatever is in it. */
  readonly slotsOf: string;
  readonly limitOf: string;
}

export const slotKeys = (key: (name: string) => string): SlotKeys => ({
  global: key('api_deployment:rate_limit:global'),
  epoch: key('api_deployment:rate_limit:epoch'),
  organizations: key('api_deployment:rate_limit:organizations'),
  servers: key('api_deployment:rate_limit:servers'),
  slotsOf: key('api_deployment:rate_limit:org:'),
  limitOf: key('rate_limit:cache:org_limit:'),
});
