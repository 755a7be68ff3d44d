// MCP: tools and resources for models, over standard input and output or HTTP.
export type { CallerKind } from './derive.ts';
export { withoutHeader } from './errors.ts';
export { handleHttp } from './server.ts';
export type { StdioStreams } from './stdio.ts';
export { serveStdio } from './stdio.ts';
