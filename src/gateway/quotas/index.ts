// Quotas: what providers allow, kept by ourselves. The counter in Redis is imported from its own folder.
export { pastCallsOf } from './past-calls.ts';
export type { Counted, CountedWindow, PastCall, PastCalls, QuotaCounter } from './ports.ts';
export { ProviderQuotas } from './quota-keeper.ts';
export type { ProviderQuotasDeps } from './quota-keeper.ts';
