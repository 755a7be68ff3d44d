// The HTTP server: build it, listen with it, drain it.
export { createTokenCheck } from './access.ts';
export { buildServer } from './server.ts';
export { createSessions } from './dashboard/session.ts';
export type { DrainReport } from './lifecycle.ts';
export { drain } from './lifecycle.ts';
export type { KnownErrorCode } from './errors.ts';
export { errorMapping } from './errors.ts';
export type { HttpErrorCode } from './errors.ts';
export { HttpError, httpErrorCodes } from './errors.ts';
export type { VaultService } from './deps.ts';
export type { HttpEvents } from './events.ts';
export { httpEvents } from './events.ts';
export type { HttpLimits } from './limits.ts';
export { defaultHttpLimits } from './limits.ts';
export type {
  Access,
  AuditRecord,
  AuditRow,
  AuditTrail,
  ConfigValue,
  ExtractionService,
  GatewayService,
  ServerDeps,
  DashboardDeps,
  Logins,
  LedgerService,
  McpHandler,
  McpRequest,
  Presence,
  AlertService,
  TenantServices,
} from './deps.ts';
