// The HTTP server: build it, listen with it, drain it.
export { createTokenCheck } from './access.ts';
export { buildServer } from './build-server.ts';
export { createSessions } from './dashboard/sessions.ts';
export type { DrainReport } from './drain.ts';
export { drain } from './drain.ts';
export type { KnownErrorCode } from './error-mapping.ts';
export { errorMapping } from './error-mapping.ts';
export type { HttpErrorCode } from './errors.ts';
export { HttpError, httpErrorCodes } from './errors.ts';
export type { VaultService } from './vault-desk.ts';
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
  ExtractionDesk,
  GatewayDesk,
  HttpDependencies,
  DashboardParts,
  Logins,
  LedgerDesk,
  McpDesk,
  McpRequest,
  Presence,
  AlertDesk,
  TenantServices,
} from './ports.ts';
