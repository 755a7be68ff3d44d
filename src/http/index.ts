// The HTTP server: build it, listen with it, drain it.
export { createTokenCheck, DashboardSessions } from './access.ts';
export type { ServerDeps } from './deps.ts';
export type { HttpEvents } from './events.ts';
export { httpEvents } from './events.ts';
export { drain } from './lifecycle.ts';
export { forwardOthers } from './forward.ts';
export { buildGatewayServer, buildServer } from './server.ts';
